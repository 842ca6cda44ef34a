"""What is published of a table is the same for its neighbours, but for the rows drawn: every estimator and artefact.

A neighbour has a sensitive value flipped, a person replaced, or a person more. Whoever knows all rows but one can make
both tables herself, so that whatever differs tells her which of them it is. No share of what differs is allowed: a
figure that turns with a person in a hundred tells that person's value for certain. `tests/support/neighbours.py` makes
tables and artefacts, and finds new estimators and views; nothing is known to differ.
"""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import islice
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sanitize as sz
from sanitize.engines.parquet import ReleaseWriter
from sanitize.release import designer
from sanitize.release.classes import ClassPartition
from sanitize.release.recipes import tuples
from sanitize.report import _document
from tests.support.neighbours import CASES, KEY, estimators, make, neighbours, published, variants, views

# 200 neighbours of each table take a quarter of an hour of one core: SANITIZE_NEIGHBOURS=200 asks for them.
SHORT, MANY = 3, int(os.environ.get("SANITIZE_NEIGHBOURS", "5"))
VARIANTS = variants()


def differing(base: dict[str, str], other: dict[str, str]) -> set[str]:
    """Artefacts that are not the same, or are there for one table alone."""
    return {name for name in base.keys() | other.keys() if base.get(name) != other.get(name)}


def compare(estimator: str, settings: dict[str, Any], case_name: str, folder: Path, n: int, *, whole: int) -> set[str]:
    """Artefacts that differ between a table and ``n`` neighbours, one in ``whole`` of them in full."""
    case, rng = CASES[case_name](), np.random.default_rng(7)
    base = published(estimator, case, settings, case.frame, folder)
    found: set[str] = set()
    for number, (_, frame) in enumerate(islice(neighbours(case, rng), n)):
        is_whole = number % whole == 0
        other = published(estimator, case, settings, frame, folder, whole=is_whole)
        found |= differing(base if is_whole else {name: base[name] for name in other if name in base}, other)
    return found


@pytest.mark.parametrize("variant", VARIANTS)
def test_what_is_published_does_not_depend_on_one_person(variant, tmp_path):
    """A neighbour of each kind; the tables take turns, and each is looked at in full by the slow sibling."""
    estimator, settings = VARIANTS[variant]
    case_name = list(CASES)[list(VARIANTS).index(variant) % len(CASES)]
    assert compare(estimator, settings, case_name, tmp_path, SHORT, whole=SHORT) == set()


@pytest.mark.slow(sampled=False)
@pytest.mark.parametrize("case_name", CASES)
@pytest.mark.parametrize("variant", VARIANTS)
def test_what_is_published_does_not_depend_on_any_of_many_people(variant, case_name, tmp_path):
    estimator, settings = VARIANTS[variant]
    assert compare(estimator, settings, case_name, tmp_path, MANY, whole=20) == set()


def test_noise_and_order_follow_from_the_key_and_the_number_of_rows(tmp_path):
    """A mechanism that does not look at the table: of a flipped secret every byte stays, of another person one row."""
    case = CASES["at edges"]()
    files = []
    for kind, frame in [("itself", case.frame), *islice(neighbours(case, np.random.default_rng(1)), 2)]:
        target = tmp_path / f"{kind}.parquet"
        sanitizer = make("RandomizedResponse", case, {})
        sz.release_file(pa.Table.from_pandas(frame, preserve_index=False), target, sanitizer, key=KEY, workers=1)
        files.append(target)
    itself, flipped, replaced = files
    assert itself.read_bytes() == flipped.read_bytes()
    before, after = (pq.read_table(file).to_pandas() for file in (itself, replaced))
    assert (before != after).any(axis=1).sum() <= 1


# ------------------------------------------------------------------- the harness fails where something is given away


def planted(monkeypatch, tmp_path, name: str = "SubsetMerging") -> set[str]:
    """What the harness finds with a fault in the library, in the table whose figures turn with a row."""
    return compare(name, {}, "at edges", tmp_path, SHORT, whole=SHORT)


def test_a_figure_in_the_footer_is_found(monkeypatch, tmp_path):
    original = designer.release_note

    def with_figure(report: Any) -> dict[str, Any]:
        return {**original(report), "max_log_lift": round(report.summary["max_log_lift"], 4)}

    monkeypatch.setattr(designer, "release_note", with_figure)
    assert {"released.parquet", "released.csv"} & planted(monkeypatch, tmp_path) == {"released.parquet"}


@pytest.mark.parametrize("digits", [4, 2])
def test_a_figure_of_the_public_view_is_found_however_coarse(digits, monkeypatch, tmp_path):
    """Two digits of a share that is at half a step turn with one person in three."""
    original = _document.claims

    def with_figure(report: Any) -> dict[str, Any]:
        found = original(report)
        share = report._before.p_s.max()
        found["verdict"]["people"] += f" {share:.{digits}f} of the rows have the most frequent value."
        return found

    monkeypatch.setattr(_document, "claims", with_figure)
    found = planted(monkeypatch, tmp_path)
    assert {"report.to_json", "report.to_html", "report.to_text", "report.to_dict", "dossier.md"} <= found


def test_a_view_that_decides_for_itself_is_found(monkeypatch, tmp_path):
    """A new one, which nobody told the harness of."""

    def to_line(self: Any, *, audience: str = "internal") -> str:
        return f"{audience}: {self.summary.get('mutual_information')}"

    monkeypatch.setattr(sz.LeakageReport, "to_line", to_line, raising=False)
    assert planted(monkeypatch, tmp_path) == {"report.to_line"}


def test_a_warning_that_one_person_switches_is_found(monkeypatch, tmp_path):
    monkeypatch.setattr(_document, "_DECLARED", (*_document._DECLARED, "useless", "worst_excess", "optimality"))
    assert "report.to_json" in planted(monkeypatch, tmp_path)


def test_the_order_of_a_dictionary_is_found(monkeypatch, tmp_path):
    """That in which values were found."""

    def as_found(array: Any) -> Any:
        return array.dictionary_decode().dictionary_encode() if isinstance(array, pa.DictionaryArray) else array

    monkeypatch.setattr("sanitize.engines.parquet._writers.with_sorted_dictionary", as_found)
    with pytest.raises(AssertionError, match="order of a dictionary"):
        compare("SubsetMerging", {}, "at edges", tmp_path, SHORT, whole=SHORT)


def test_metadata_of_the_source_is_found(monkeypatch, tmp_path):
    """As a writer that takes over what the source's schema says of its rows."""
    original = ReleaseWriter.__init__

    def careless(self: Any, stream: Any, schema: pa.Schema, footer: bytes) -> None:
        original(self, stream, schema, footer)
        self.add_key_value_metadata({"source": str(careless.rows)})

    def make_and_count(*arguments: Any, **keywords: Any) -> Any:
        if isinstance(arguments[0], pa.Table):
            careless.rows = arguments[0].column("s").to_pylist().count("yes")
        return release(*arguments, **keywords)

    release = sz.release_file
    monkeypatch.setattr(ReleaseWriter, "__init__", careless)
    monkeypatch.setattr(sz, "release_file", make_and_count)
    assert "released.parquet" in planted(monkeypatch, tmp_path)


def test_names_of_groups_are_found(monkeypatch, tmp_path):
    """A design that is released as it is: its symbols are called by what one row may move between them."""
    specify = tuples.TupleRecipe._specify

    def as_it_is(self: Any, *given: Any, **settings: Any) -> Any:
        return replace(specify(self, *given, **settings), prints=False)

    monkeypatch.setattr(tuples.TupleRecipe, "_specify", as_it_is)
    with pytest.raises(AssertionError, match="names of groups"):
        planted(monkeypatch, tmp_path)


def test_a_figure_of_the_model_in_the_sentence_on_people_is_found(monkeypatch, tmp_path):
    """How many parameters the model has moves with a person, and so does every figure that follows from it."""
    words = property(lambda self: f"An attacker would be right about {self.model.membership:.4f} of the time.")
    monkeypatch.setattr(ClassPartition, "people", words)
    found = compare("LatentClassRelease", {}, "survey", tmp_path, SHORT, whole=SHORT)
    assert {"report.to_json", "report.to_html", "released.parquet"} & found == {"report.to_json", "report.to_html"}


def distribution(estimator: str, case: Any, frame: Any) -> dict[str, float]:
    """Rows of each released value that are expected."""
    table = pa.Table.from_pandas(frame, preserve_index=False)
    sanitizer = make(estimator, case, {}).fit(frame)
    layout, channel = sanitizer._release.layout, sanitizer.channel_
    codes = channel.inputs.encode(layout.columns({name: table.column(name) for name in layout.read}))
    expected = np.bincount(codes, minlength=channel.n_inputs) @ channel.matrix
    return dict(zip(map(str, channel.outputs.symbols), expected, strict=True))


@pytest.mark.parametrize("estimator", ["SubsetMerging", "Watchdog"])
@pytest.mark.parametrize("case_name", ["survey", "many types"])
def test_rows_of_values_tell_a_flipped_secret_about_as_well_as_chance(estimator, case_name):
    """The best test of all rows drawn, by whoever knows all other rows and both channels; 0.5 is guessing.

    Its AUC is that of two normal variables, whose distance is that of the expected numbers of rows in standard errors.
    """
    case = CASES[case_name]()
    flips = islice(neighbours(case, np.random.default_rng(7)), 0, 24, 3)
    base, found = distribution(estimator, case, case.frame), []
    for _, frame in flips:
        other = distribution(estimator, case, frame)
        assert other.keys() == base.keys()
        distance = sum((other[y] - base[y]) ** 2 / max(base[y], other[y], 1e-9) for y in base)
        found.append(NormalDist().cdf(float(distance / 2) ** 0.5))
    assert np.mean(found) < 0.52
    assert max(found) < 0.6


def test_every_estimator_and_view_is_looked_at():
    assert {"Watchdog", "SubsetMerging", "RandomizedResponse", "JointRelease"} <= set(estimators())
    joint = sz.JointDistribution.from_matrix([[0.25, 0.25], [0.25, 0.25]])
    report = sz.LeakageReport.measure(joint, sz.Channel.identity(2), sz.LiftBudget.symmetric(1))
    names = {name.partition(".")[2].partition("{")[0] for name in views("report", report)}
    assert names == {"to_dict", "to_json", "to_html", "to_text"}
