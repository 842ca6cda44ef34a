"""A key draws the noise of one release; a second one with it would tell which values differ."""

import copy
import pickle

import pandas as pd
import pytest
from sklearn.base import clone

import sanitize as sz
from sanitize.errors import InvalidParameter, ReleaseWarning
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


def test_a_bound_key_equals_hashes_and_is_pickled_as_its_bytes():
    key = sz.NoiseKey(KEY)
    key.bind("something")
    assert key == sz.NoiseKey(KEY)
    assert hash(key) == hash(sz.NoiseKey(KEY))
    assert pickle.loads(pickle.dumps(key)) == key
    assert repr(key) == "NoiseKey()"


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
