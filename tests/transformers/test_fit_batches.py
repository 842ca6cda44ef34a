"""Fits on files and on batches are those of all rows at once; absent columns are named together."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sanitizer_cases import DF

import sanitize as sz
from sanitize.errors import ColumnError, InvalidParameter, SourceError

AGES = [18, 30, 50, 90]
NO_FLOOR = sz.LiftBudget(lower=float("inf"), upper=3.0)
MADE = {
    "merging": lambda: sz.SubsetMerging(
        sz.LiftBudget.symmetric(0.6), sensitive="illness", public=["town", "age"], bins={"age": AGES}
    ),
    "response": lambda: sz.OptimalRandomResponse(
        sz.LiftBudget.symmetric(0.6), sensitive="illness", public=["town"], min_count=3
    ),
    "joint": lambda: sz.JointRelease(
        [("town", sz.SubsetMerging(sz.LiftBudget.symmetric(0.6), public=["town"]))],
        NO_FLOOR,
        sensitive=["illness"],
        keep=["job"],
    ),
    "noise": lambda: sz.GaussianChannel(1.0, sensitive="illness", public=["age"], bounds=(0, 100)),
}


def batches(frame, rows):
    return (frame.iloc[start : start + rows] for start in range(0, len(frame), rows))


@pytest.mark.slow
@pytest.mark.parametrize("kind", MADE)
def test_a_fit_does_not_depend_on_where_the_rows_come_from(kind, tmp_path):
    DF.to_parquet(tmp_path / "raw.parquet")
    whole = MADE[kind]().fit(DF)
    for given in (batches(DF, 7), batches(DF, 10_000), tmp_path / "raw.parquet", str(tmp_path / "raw.parquet")):
        fitted = MADE[kind]().fit(given)
        assert fitted.channel_ == whole.channel_
        assert fitted.report_.summary == whole.report_.summary
        assert list(fitted.feature_names_in_) == list(DF.columns)
    seeded = fitted.set_params(random_state=0).transform(DF)
    pd.testing.assert_frame_equal(seeded, whole.set_params(random_state=0).transform(DF))


def test_batches_of_every_kind_and_types_that_widen(tmp_path):
    table = pa.Table.from_pandas(DF, preserve_index=False)
    whole = MADE["merging"]().fit(DF)
    pq.write_table(table, tmp_path / "raw.parquet", row_group_size=50)
    read = pq.ParquetFile(tmp_path / "raw.parquet").iter_batches(batch_size=33)
    DF.to_csv(tmp_path / "raw.csv", index=False)
    for given in (
        iter([table.slice(0, 100), table.slice(100)]),
        (pa.Table.from_batches([batch]) for batch in read),
        pd.read_csv(tmp_path / "raw.csv", chunksize=77),
        tmp_path / "raw.csv",
    ):
        assert MADE["merging"]().fit(given).channel_ == whole.channel_
    later = [
        pd.DataFrame({"s": list("ab") * 4, "x": [1, 2] * 4}),
        pd.DataFrame({"s": list("ab") * 4, "x": [0.5, 2] * 4}),
    ]
    fitted = sz.SubsetMerging(sz.LiftBudget.symmetric(2.0), sensitive="s", public="x", min_count=0).fit(iter(later))
    assert fitted.channel_.inputs.symbols == (0.5, 1, 2)


def test_values_outside_declared_edges_are_counted_over_all_batches():
    low = MADE["merging"]().set_params(bins={"age": [30, 50, 60]})
    told = [note for note in low.fit(batches(DF, 11)).report_.facts.warnings if "clipped" in note]
    outside = int(((DF["age"] < 30) | (DF["age"] > 60)).sum())
    assert len(told) == 1
    assert told[0].startswith(f"{outside} rows")


def test_what_batches_and_files_cannot_have_is_refused(tmp_path):
    merging = MADE["merging"]()
    for ask, error, says in [
        (lambda: merging.fit(iter([])), ColumnError, "can be read only once"),
        (lambda: merging.fit(tmp_path / "none.parquet"), SourceError, r"none\.parquet"),
        (lambda: merging.fit(batches(DF, 9), sensitive_features=DF["rich"]), InvalidParameter, "sensitive="),
        (lambda: merging.fit(batches(DF, 9), sample_weight=np.ones(len(DF))), InvalidParameter, "sample_weight"),
        (lambda: copy.copy(merging).set_params(bins=[0, 9]).fit(batches(DF, 9)), InvalidParameter, "name the columns"),
        (lambda: merging.fit(iter([DF, DF.drop(columns="town")])), ColumnError, "no column 'town'"),
    ]:
        with pytest.raises(error, match=says):
            ask()


def test_classes_are_fitted_on_a_file_and_on_batches(tmp_path):
    DF.to_parquet(tmp_path / "raw.parquet")
    settings = {"sensitive": "illness", "public": ["town", "job"], "n_classes": 3, "random_state": 0}
    whole = sz.LatentClassRelease(sz.LiftBudget.symmetric(1.0), **settings).fit(DF)
    for given in (tmp_path / "raw.parquet", batches(DF, 9)):
        assert sz.LatentClassRelease(sz.LiftBudget.symmetric(1.0), **settings).fit(given).channel_ == whole.channel_


def test_absent_columns_are_named_together(tmp_path):
    DF.to_parquet(tmp_path / "raw.parquet")
    wrong = sz.SubsetMerging(
        sz.LiftBudget.symmetric(1.0), sensitive="ilness", public=["town", "jobs", "zzz"], bins={"agee": AGES}
    )
    says = r"no columns 'ilness' \(did you mean 'illness'\?\), 'jobs' \(did you mean 'job'\?\), 'zzz', 'agee'"
    for given in (DF, tmp_path / "raw.parquet", batches(DF, 50)):
        with pytest.raises(ColumnError, match=says) as caught:
            wrong.fit(given)
        assert caught.value.column is None
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    joint = sz.JointRelease(
        [("a", sz.SubsetMerging(sz.LiftBudget.symmetric(1.0), public=["twn"]))],
        sz.LiftBudget.symmetric(1.0),
        sensitive="illness",
        keep=["jb"],
    )
    with pytest.raises(ColumnError, match=r"no columns 'twn' \(did you mean 'town'\?\), 'jb'"):
        joint.fit(DF)
    with pytest.raises(ColumnError, match=r"no columns 'ilness' .*, 'twn'"):
        sz.engines.parquet.audit_file(tmp_path / "raw.parquet", ["ilness"], ["twn"])
