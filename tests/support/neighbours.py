"""Neighbouring tables, and all that leaves the owner's hands when each of them is released with the same key.

What is published may depend on what was declared, on the rows that were drawn and on noise, and on nothing else of the
table. So `published` takes the rows out of every artefact and gives back what is left; of two tables that differ in one
person it has to be the same to the byte. Estimators, their outputs and the views of reports are looked up, so that a
new one is covered when it comes.
"""

from __future__ import annotations

import inspect
import json
import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

import sanitize as sz
from sanitize import transformers
from sanitize._util.outputs import outputs
from sanitize.auditing.verify._canonical import write_canonical
from sanitize.engines.sql import release as release_in_sql
from sanitize.errors import InvalidParameter
from sanitize.report import LeakageReport, Material, dossier
from sanitize.tables.files.open import open_source

KEY = bytes(range(32))
LIMIT = sz.LiftBudget(at_most=2, at_least=0.33)
# Of searches, in units of work: how good a channel is does not matter here.
EFFORT = 2000.0
STRANGER = "nobody else's"


@dataclass(frozen=True)
class Case:
    """A table whose columns have a role."""

    frame: pd.DataFrame
    sensitive: str
    public: tuple[str, ...]
    amount: str  # a column of numbers between 0 and 10
    settings: Mapping[str, Any] = field(default_factory=dict)

    def make_bins(self, name: str) -> dict[str, Any] | None:
        """Bins of one column, if it has any."""
        found = {key: edges for key, edges in self.settings.get("bins", {}).items() if key == name}
        return found or None


def survey() -> Case:
    """Rows as they are, numbers in declared bins."""
    whole = sz.datasets.load_survey()
    rows = whole.iloc[np.random.default_rng(1).permutation(len(whole))[:320]].reset_index(drop=True)
    rows = rows[["depression", "sex", "age", "school_years"]].assign(school_years=lambda x: x.school_years.clip(0, 10))
    bins = {"age": [0, 40, 60, 120]}
    return Case(rows, "depression", ("sex", "age"), "school_years", {"bins": bins})


def at_edges() -> Case:
    """Counts at which figures turn: shares at half a digit, ten rows of a combination and nine, a limit that is met."""
    cells = {("a", "yes"): 5, ("a", "no"): 5, ("b", "yes"): 1, ("b", "no"): 8, ("c", "yes"): 10, ("c", "no"): 90}
    cells |= {("d", "yes"): 9, ("d", "no"): 72}
    rows = [(x, s, "uv"[place % 2], place % 11) for (x, s), n in cells.items() for place in range(n)]
    frame = pd.DataFrame(rows, columns=["x", "s", "z", "w"])
    return Case(frame, "s", ("x", "z"), "w")


def of_many_types() -> Case:
    """Missing values, whole numbers, booleans, and a sensitive value that one person has."""
    rng, n = np.random.default_rng(2), 260
    ill = rng.choice(["none", "flu", "cold"], n, p=[0.6, 0.2, 0.2]).astype(object)
    ill[0] = "rare"
    numbers = pd.array(rng.integers(0, 3, n), "Int64")
    numbers[rng.random(n) < 0.1] = pd.NA
    smokes = np.where(rng.random(n) < 0.3, ill == "flu", rng.random(n) < 0.5)
    frame = pd.DataFrame({"ill": ill, "rooms": numbers, "smokes": smokes, "dose": rng.integers(0, 11, n)})
    return Case(frame, "ill", ("rooms", "smokes"), "dose")


CASES = {"survey": survey, "at edges": at_edges, "many types": of_many_types}


def neighbours(case: Case, rng: np.random.Generator) -> Iterator[tuple[str, pd.DataFrame]]:
    """Tables with a sensitive value flipped, a person replaced, a person added, in turn and without end.

    One in four of those who come has a value that nobody else has, where the column is one of text.
    """
    frame, values = case.frame, sorted(set(case.frame[case.sensitive]))

    def person() -> dict[str, Any]:
        found = {name: frame[name].iloc[int(rng.integers(len(frame)))] for name in frame}
        texts = [name for name in case.public if frame[name].map(type).eq(str).all()]
        if texts and rng.random() < 0.25:
            found[texts[0]] = STRANGER
        return found

    while True:
        row = int(rng.integers(len(frame)))
        flipped = frame.copy()
        others = [value for value in values if value != frame[case.sensitive].iloc[row]]
        flipped.loc[row, case.sensitive] = others[int(rng.integers(len(others)))]
        yield "flipped", flipped
        replaced = frame.astype(object)
        replaced.loc[row] = person()
        yield "replaced", replaced.astype(frame.dtypes)
        added = pd.concat([frame.astype(object), pd.DataFrame([person()], dtype=object)], ignore_index=True)
        yield "added", added.astype(frame.dtypes)


def estimators() -> dict[str, type[Any]]:
    """Every public estimator that releases rows."""
    found = {name: getattr(transformers, name) for name in transformers.__all__}
    return {
        name: kind
        for name, kind in found.items()
        if inspect.isclass(kind) and issubclass(kind, transformers.Sanitizer) and kind is not transformers.Sanitizer
    }


# What some need besides, or in place of, the limit.
NEEDS: dict[str, Any] = {
    "RandomizedResponse": lambda case: {"budget": 2.0},
    "ExponentialChannel": lambda case: {"budget": 0.5},
    "GaussianChannel": lambda case: {"budget": 0.5, "public": [case.amount], "bounds": (0, 10), "bins": None},
    "JointRelease": lambda case: {
        "sanitizers": [(name, transformers.Watchdog(public=[name], bins=case.make_bins(name))) for name in case.public],
    },
}


# Their designs under a confidence take seconds to a minute for each table, and what is published is the same code.
_COSTLY = ("BestSanitizer", "OptimalRandomResponse", "SubsetRandomResponse")


def variants() -> dict[str, tuple[str, dict[str, Any]]]:
    """Every estimator, once more with a confidence or noisy counts, and classes with a kept column, by a name."""
    found: dict[str, tuple[str, dict[str, Any]]] = {}
    for name, kind in estimators().items():
        known = inspect.signature(kind).parameters
        found[name] = name, {}
        if "confidence" in known and name not in _COSTLY:
            found[f"{name}-confidence"] = name, {"confidence": 0.95}
        if "secret_dp" in known:
            more = {"confidence": 0.95} if name == "LatentClassRelease" else {}
            found[f"{name}-secret_dp"] = name, {"secret_dp": 1.0, **more}
    kept = {
        "LatentClassRelease-keep": {"keep": ()},
        # Little noise: with much of it the kept column is beyond the limit now and then, by chance.
        "LatentClassRelease-keep-secret_dp": {"keep": (), "secret_dp": 20.0},
    }
    return found | {variant: ("LatentClassRelease", settings) for variant, settings in kept.items()}


def _known(kind: type[Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name in inspect.signature(kind).parameters}


def make(name: str, case: Case, settings: Mapping[str, Any]) -> Any:
    """The estimator for a table."""
    kind = estimators()[name]
    asked = {"budget": LIMIT, "sensitive": case.sensitive, "public": list(case.public), **case.settings}
    asked |= {"effort": EFFORT} | NEEDS.get(name, lambda _: {})(case)
    if "keep" in settings:  # the first public column, within a limit that it meets by itself
        settings = {**settings, "keep": list(case.public[:1])}
        asked |= {"public": list(case.public[1:]), "budget": sz.LiftBudget(at_most=9, at_least=0)}
    if "secret_dp" in settings:  # the level alone, as values are those of the case
        values = sorted(set(case.frame[case.sensitive]))
        promise = transformers.SecretDP(settings["secret_dp"], 1e-6, {case.sensitive: values})
        settings = {**settings, "secret_dp": promise}
    return kind(**_known(kind, {name: value for name, value in asked.items() if value is not None}), **settings)


def published(
    name: str, case: Case, settings: Mapping[str, Any], frame: pd.DataFrame, folder: Path, *, whole: bool = True
) -> dict[str, str]:
    """All that is published of a table but the rows drawn, by the name of the artefact.

    Without ``whole`` only a Parquet file and the views of its report, which are most of the time the same code.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = pa.Table.from_pandas(frame, preserve_index=False)
        target, sanitizer = folder / "released.parquet", make(name, case, settings)
        report = sz.release_file(table, target, sanitizer, key=KEY, force=True, workers=1)
        check_values(case, sanitizer)
        found = rest_of_file(target) | views("report", report)
        return found | (_others(name, case, settings, frame, folder) if whole else {})


def check_values(case: Case, sanitizer: Any) -> None:
    """Refuse columns and values that no table of the case has: names of groups follow from the exact counts."""
    inputs, outputs = sanitizer.channel_.inputs, sanitizer.channel_.outputs
    assert outputs.columns == inputs.columns, "names of groups"
    for name, level in zip(outputs.columns, outputs.levels, strict=True):
        if name in case.public and name not in case.settings.get("bins", {}):
            assert set(map(str, level.to_pylist())) <= {*map(str, case.frame[name]), STRANGER}, "names of groups"


def _others(name: str, case: Case, settings: Mapping[str, Any], frame: pd.DataFrame, folder: Path) -> dict[str, str]:
    """Everything else: a CSV file by a fit of its own, all of memory by another, and a folder of new rows."""
    table, target, found = pa.Table.from_pandas(frame, preserve_index=False), folder / "released.csv", {}
    report = sz.release_file(table, target, make(name, case, settings), key=KEY, force=True, workers=1)
    found |= rest_of_file(target)
    found |= views("saved report", LeakageReport.from_json(report.to_json()))
    material = Material((), checks=(("rows", "passed", f"{len(frame)} of {len(frame)}"),), false_alarm=0.01)
    for form in ("md", "html"):
        found[f"dossier.{form}"] = dossier(report.to_dict(audience="public"), material, form)
    sanitizer = make(name, case, settings).set_params(random_state=sz.NoiseKey(KEY))
    found |= rest_of_frame("pandas", sz.frames.release(frame, sanitizer))
    for kind, native in {"arrow": table, "polars": pl.from_arrow(table)}.items():
        found |= rest_of_frame(kind, sanitizer.transform(native))
    with suppress(InvalidParameter):  # not every release can be drawn in a database, or be kept
        rows = release_in_sql(frame.assign(id=range(len(frame))), sanitizer, key=KEY, row_id="id")
        found["sql"] = repr([*rows.columns])
    again = make(name, case, settings)
    with suppress(InvalidParameter):
        again = sz.SavedRelease.of(sanitizer)
    rest, report = rest_of_folder(table, again, folder)
    return found | rest | (views("appended", report) if isinstance(again, sz.SavedRelease) else {})


def views(of: str, report: Any) -> dict[str, str]:
    """Every view of a report that can be had for the public, with each of its switches."""
    found = {}
    for name, method in inspect.getmembers(report, inspect.ismethod):
        parameters = inspect.signature(method).parameters
        if name.startswith("_") or "audience" not in parameters:
            continue
        for switch in ({}, {"full": False}) if "full" in parameters else ({},):
            found[f"{of}.{name}{switch or ''}"] = json.dumps(method(audience="public", **switch))
    return found


def rest_of_file(path: Path) -> dict[str, str]:
    """What a file holds but its rows, after a look that its bytes follow from both."""
    with open_source(path) as released, outputs() as made:
        again = path.parent.parent / f"again{path.suffix}"
        again.unlink(missing_ok=True)
        write_canonical(released, again, made)
    assert again.read_bytes() == path.read_bytes(), "the file holds more than its rows and its footer"
    if path.suffix == ".csv":
        return {path.name: path.read_text(encoding="utf-8").partition("\n")[0]}
    text = [field.name for field in pq.read_schema(path) if pa.types.is_string(field.type)]
    for column in pq.read_table(path, columns=text, read_dictionary=text).columns:
        entries = [chunk.dictionary.to_pylist() for chunk in column.chunks]
        assert entries == [sorted(set(chunk.to_pylist()) - {None}) for chunk in column.chunks], "order of a dictionary"
    about = pq.read_metadata(path)
    fields = repr((about.metadata, about.schema.to_arrow_schema().to_string(), about.created_by, about.num_row_groups))
    return {path.name: fields}


def rest_of_folder(table: pa.Table, sanitizer: Any, folder: Path) -> tuple[dict[str, str], Any]:
    """Names of the files that a folder is released to, and what each holds but its rows; and the report."""
    source, target = folder / "raw", folder / "parts"
    source.mkdir(exist_ok=True)
    for number, start in enumerate((0, 100)):
        pq.write_table(table.slice(start, 100 if number == 0 else None), source / f"{number}.parquet")
    report = sz.release_file(source, target, sanitizer, key=KEY, force=True, workers=1)
    files = sorted(target.rglob("*.parquet"))
    return {f"parts/{name}": rest for file in files for name, rest in rest_of_file(file).items()}, report


def rest_of_frame(kind: str, released: Any) -> dict[str, str]:
    """What a frame holds but its rows: names, types, metadata; dictionaries hold no value that no row has."""
    rows = released if isinstance(released, pa.Table) else None
    if isinstance(released, pd.DataFrame):
        assert released.index.equals(pd.RangeIndex(len(released)))
        for column in released.select_dtypes("category"):
            assert set(released[column].cat.categories) == set(released[column].dropna()), "a category that no row has"
        return {kind: repr((released.attrs, [*released.columns], [str(dtype) for dtype in released.dtypes]))}
    if rows is None:
        return {kind: repr([(name, str(dtype)) for name, dtype in released.schema.items()])}
    for column in rows.columns:
        for chunk in column.chunks:
            if isinstance(chunk, pa.DictionaryArray):
                assert set(chunk.dictionary.to_pylist()) == set(chunk.to_pylist()) - {None}, "a value that no row has"
    return {kind: rows.schema.to_string(show_schema_metadata=True)}
