"""What is said of new rows is computed from the channel that they go through, whatever the saved text says."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sanitize as sz
from sanitize._util.sealed_text import compute_seal
from sanitize.core.channel import Channel
from sanitize.transformers import SubsetMerging


def table(n=2000):
    rng = np.random.default_rng(0)
    s = rng.choice(["a", "b"], n)
    x = np.where(rng.random(n) < 0.5, np.where(s == "a", "p", "q"), rng.choice(["p", "q", "r"], n))
    return pa.table({"s": s, "x": x})


@pytest.fixture
def tampered(tmp_path):
    """A saved release whose channel was made the identity, signed anew."""
    fitted = SubsetMerging(sz.LiftBudget(lower=0.1, upper=0.1), sensitive="s", public="x").fit(table())
    state = json.loads(sz.SavedRelease.of(fitted).to_json())
    identity = Channel.identity(len(fitted.channel_.inputs), fitted.channel_.inputs)
    state["channel"] = json.loads(identity.to_json())
    del state["sha256"]
    return sz.SavedRelease.from_json(json.dumps(state | {"sha256": compute_seal(state)}))


def test_a_release_signed_again_with_an_identity_channel_is_not_ok(tampered, tmp_path):
    pq.write_table(table(), tmp_path / "new.parquet")
    report = sz.release_file(tmp_path / "new.parquet", tmp_path / "out.parquet", tampered)
    assert not report.ok
    assert not report.summary["ok"]
    assert report.to_dict()["ok"] is False
    assert report.to_text().startswith("OVER BUDGET")
    footer = json.loads(pq.read_metadata(tmp_path / "out.parquet").metadata[b"sanitize"])
    # What new rows say of the channel is a function of them, so the file tells of the fit alone.
    assert "within_budget" not in footer
    assert footer["holds_for"].startswith("the distribution of the rows that the channel was fitted on")


def test_without_the_sensitive_columns_the_channel_itself_is_told(tampered, tmp_path):
    pq.write_table(table().drop_columns(["s"]), tmp_path / "new.parquet")
    report = sz.release_file(tmp_path / "new.parquet", tmp_path / "out.parquet", tampered)
    assert report.kept == pytest.approx(1)
    assert tampered.summary["normalized_utility"] < 0.9
    assert "keeps 1 of the information" in report.to_text()
