"""A key draws the noise of one release; a second one with it would tell which values differ."""

import base64
import copy
import os
import pickle
import traceback

import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import sanitize as sz
import sanitize.engines.sql
from sanitize.errors import InvalidParameter, ReleaseWarning
from sanitize.policy import Policy
from sanitize.release.saved import Receipt
from sanitize.transformers import RandomizedResponse

KEY = b"k" * 32
FRAME = pd.DataFrame({"s": list("abab") * 50, "x": list("ccde") * 50})


def respond(budget=1.0, key=None):
    return RandomizedResponse(budget, sensitive="s", public="x", random_state=key or sz.NoiseKey(KEY))


def test_the_same_rows_again_are_the_same_release():
    sanitizer = respond().fit(FRAME)
    pd.testing.assert_frame_equal(sanitizer.transform(FRAME), sanitizer.transform(FRAME[["x"]]))


@pytest.mark.parametrize("other", [FRAME[::-1], FRAME[:100], FRAME.assign(x=["d", *FRAME["x"][1:]])])
def test_other_rows_are_refused(other):
    sanitizer = respond().fit(FRAME)
    sanitizer.transform(FRAME)
    with pytest.raises(InvalidParameter, match="use a new key"):
        sanitizer.transform(other)
    sanitizer.set_params(random_state=sz.NoiseKey(b"l" * 32)).transform(other)


def test_another_channel_or_a_clone_is_bound_by_the_same_use():
    key = sz.NoiseKey(KEY)
    respond(1.0, key).fit_transform(FRAME)
    for other in (respond(2.0, key), respond(2.0, copy.deepcopy(key)), clone(respond(2.0, key))):
        with pytest.raises(InvalidParameter, match="another channel"):
            other.fit_transform(FRAME)
    clone(respond(1.0, key)).fit_transform(FRAME)


def test_a_bound_key_equals_and_hashes_and_its_copies_are_itself():
    key = sz.NoiseKey(KEY)
    key.bind("something")
    assert key == sz.NoiseKey(KEY)
    assert hash(key) == hash(sz.NoiseKey(KEY))
    assert copy.copy(key) is copy.deepcopy(key) is key
    assert repr(key) == "NoiseKey()"


SECRET = bytes(range(100, 132))
FORMS = (SECRET, SECRET.hex().encode(), base64.b64encode(SECRET), repr(SECRET).encode())


def holds_key(content: object) -> bool:
    return any(form in (content if isinstance(content, bytes) else str(content).encode()) for form in FORMS)


def fitted_estimators():
    estimator = respond(key=sz.NoiseKey(SECRET)).fit(FRAME)
    yield estimator
    yield make_pipeline(respond(key=sz.NoiseKey(SECRET))).fit(FRAME)
    yield clone(estimator)
    yield copy.deepcopy(estimator)
    yield sz.JointRelease(
        [("x", RandomizedResponse(0.5, public="x"))],
        sz.LiftBudget.symmetric(2.0),
        sensitive="s",
        random_state=sz.NoiseKey(SECRET),
    ).fit(FRAME)


def test_no_pickle_holds_a_key_and_what_is_loaded_draws_from_the_operating_system():
    for estimator in fitted_estimators():
        assert not holds_key(pickle.dumps(estimator))
    estimator = respond(key=sz.NoiseKey(SECRET)).fit(FRAME)
    one, other = (pickle.loads(pickle.dumps(estimator)) for _ in range(2))
    drawn = [sanitizer.transform(FRAME)["x"].to_list() for sanitizer in (estimator, one, other)]
    assert drawn[0] != drawn[1] != drawn[2] != drawn[0]
    assert not one.report_.facts.seeded


def test_tasks_of_workers_hold_the_key():
    key = sz.NoiseKey(SECRET).for_workers()
    assert pickle.loads(pickle.dumps(key)).key == SECRET
    assert repr(key) == "_WorkersKey()"


def locals_of_the_library(error: BaseException) -> str:
    """Locals of the library's frames in the traceback of an error, and of the errors before it, as they are shown."""
    shown, told = [], traceback.TracebackException.from_exception(error, capture_locals=True)
    while told is not None:
        library = [frame for frame in told.stack if f"{os.sep}tests{os.sep}" not in frame.filename]
        shown += [text for frame in library for text in (frame.locals or {}).values()]
        told = told.__cause__ or (None if told.__suppress_context__ else told.__context__)
    return "".join(shown)


@pytest.mark.parametrize("given", [SECRET, SECRET[:31], SECRET.hex()], ids=["key", "short", "hex"])
@pytest.mark.parametrize("door", ["file", "policy", "saved", "receipt", "sql", "key"])
def test_no_traceback_shows_a_key(door, given, tmp_path, monkeypatch):
    """Every door that takes a key, with an error as late as the draws or the target, and with a key that is none."""
    FRAME.to_parquet(tmp_path / "raw.parquet")
    (tmp_path / "private").mkdir()
    sanitizer = RandomizedResponse(1.0, sensitive="s", public="x")
    files = tmp_path / "raw.parquet", tmp_path / "out.parquet"

    def fails(*_, **__):
        raise RuntimeError("planted")

    by = sz.SavedRelease.of(clone(sanitizer).fit(FRAME)) if door in ("saved", "sql") else sanitizer
    if door == "policy":
        by = Policy.from_toml(
            'version = 1\ncolumns = {sensitive = ["s"], public = ["x"]}\nbudget = {upper = 0.7, lower = 1.0}'
        )
    monkeypatch.setattr("sanitize.engines.parquet._second_pass.SecondPass.write", fails)
    monkeypatch.setattr("sanitize.engines.sql._database.hash_words", fails)

    def release():
        if door == "key":
            sz.NoiseKey(given).bind("something")
            fails()
        elif door == "sql":
            sanitize.engines.sql.release(FRAME.assign(id=range(len(FRAME))), by, key=given, row_id="id")
        else:
            receipt = {"receipt": tmp_path / "private" / "r"} if door in ("receipt", "policy") else {}
            sz.release_file(*files, by, key=given, **receipt)

    with pytest.raises((RuntimeError, InvalidParameter)) as caught:
        release()
    shown = locals_of_the_library(caught.value)
    assert not holds_key(shown)
    assert SECRET[:31].hex() not in shown
    assert repr(SECRET[:31]) not in shown
    assert not holds_key(caught.value)


def test_a_receipt_that_cannot_be_used_shows_no_key(tmp_path):
    FRAME.to_parquet(tmp_path / "raw.parquet")
    place = tmp_path / "private" / "r"
    sanitizer = RandomizedResponse(1.0, sensitive="s", public="x")
    sz.release_file(tmp_path / "raw.parquet", tmp_path / "out.parquet", sanitizer, key=SECRET, receipt=place)
    key = Receipt.read(place).key.key.hex()
    place.chmod(0o600)
    place.write_text(place.read_text().replace('"version": 1', '"version": 2').replace('"version":1', '"version":2'))
    with pytest.raises(sz.errors.SourceError) as caught:
        Receipt.read(place)
    assert key in place.read_text()
    assert key not in locals_of_the_library(caught.value)


def test_a_file_from_a_seed_warns(tmp_path):
    FRAME.to_parquet(tmp_path / "raw.parquet")
    sanitizer = respond().set_params(random_state=3)
    with pytest.warns(ReleaseWarning, match="seed"):
        sz.release_file(tmp_path / "raw.parquet", tmp_path / "out.parquet", sanitizer)


def test_files_are_told_from_other_files_and_rows_by_their_counts(tmp_path):
    """A key that drew for one file draws for no other, and for no other rows in memory."""
    FRAME.to_parquet(tmp_path / "raw.parquet")
    FRAME.assign(x=["d", *FRAME["x"][1:]]).to_parquet(tmp_path / "other.parquet")
    for name, refused in (("raw", "other"), ("other", "raw")):
        key = sz.NoiseKey(KEY)
        for _ in range(2):
            sz.release_file(tmp_path / f"{name}.parquet", tmp_path / "out.parquet", respond(key=key), force=True)
        before = (tmp_path / "out.parquet").read_bytes()
        with pytest.raises(InvalidParameter, match="use a new key"):
            sz.release_file(tmp_path / f"{refused}.parquet", tmp_path / "out.parquet", respond(key=key), force=True)
        assert (tmp_path / "out.parquet").read_bytes() == before
        if name == "raw":
            respond(key=key).fit_transform(FRAME)
        with pytest.raises(InvalidParameter, match="use a new key"):
            respond(key=key).fit_transform(FRAME[:100])
    in_memory = sz.NoiseKey(KEY)
    respond(key=in_memory).fit_transform(FRAME)
    sz.release_file(tmp_path / "raw.parquet", tmp_path / "out.parquet", respond(key=in_memory), force=True)
    with pytest.raises(InvalidParameter, match="use a new key"):
        sz.release_file(tmp_path / "other.parquet", tmp_path / "new.parquet", respond(key=in_memory))
    assert not (tmp_path / "new.parquet").exists()
