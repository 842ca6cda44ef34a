"""Releases of a design that a time limit cut off: verified by their channel, which is not trusted.

What a clock would cut off is cut off by effort here, which is the same on every machine.
"""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from verify_cases import assert_caught

import sanitize as sz
from sanitize.alphabet import Alphabet
from sanitize.channel import Channel
from sanitize.errors import InvalidParameter
from sanitize.parquet import privatize_parquet
from sanitize.transformers import JointRelease, SubsetMerging, SubsetRandomResponse
from sanitize.verify import verify_parquet

HOURS = 1e6
POLICY = """version = 1
[columns]
sensitive = ["s"]
public = ["x", "z"]
[budget]
lower = 0.3
upper = 0.3
[channel]
mechanism = "subset-random-response"
time_limit = 1e6
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("given")
    rng = np.random.default_rng(0)
    s = rng.integers(0, 3, 6000)
    x = np.where(rng.random(6000) < 0.3, 9 * s + rng.integers(0, 9, 6000), rng.integers(0, 30, 6000))
    pq.write_table(pa.table({"s": s, "x": x, "z": [f"letter {k}" for k in x % 2]}), place / "raw.parquet")
    return place


def responding(*, is_cut=False, kind=SubsetRandomResponse, **settings):
    more = {"effort": 1} if is_cut else {}
    return kind(0.3, sensitive="s", public=["x", "z"], time_limit=HOURS, **more, **settings)


def cut(folder, rows="shuffle", **settings):
    """A release of a design that was cut off, and its sanitizer."""
    sanitizer = responding(is_cut=True, **settings)
    privatize_parquet(folder / "raw.parquet", folder / "out.parquet", sanitizer, rows=rows, force=True)
    return sanitizer


def verified(folder, sanitizer, rows="shuffle", **settings):
    return verify_parquet(folder / "out.parquet", folder / "raw.parquet", sanitizer, rows=rows, **settings)


@pytest.mark.parametrize(
    ("rows", "min_count", "output"),
    [("shuffle", 0, "label"), ("shuffle", 150, "label"), ("keep", 150, "resample"), ("shuffle", 0, "resample")],
)
def test_a_design_that_was_cut_off_passes_by_its_channel(rows, min_count, output, folder):
    settings = {"min_count": min_count, "output": output}
    made = cut(folder, rows, **settings)
    again = responding(**settings)
    made.channel_.to_json(folder / "channel.json")
    saved = sz.SavedRelease.of(made)
    saved.to_json(folder / "saved.json")
    for given in (made.channel_, saved, folder / "channel.json", str(folder / "saved.json")):
        found = verified(folder, again, rows, channel=given)
        assert found.ok, str(found)
        assert "as it was given, within its budget on the source" in found.checks[0].detail


def test_without_its_channel_it_fails_and_says_what_to_do(folder):
    cut(folder)
    found = verified(folder, responding())
    assert not found.ok
    said = "it was cut short, and the release perhaps by a clock or with another SciPy: give the channel"
    assert said in found.checks[0].detail


@pytest.mark.parametrize("effort", [1, None])
def test_an_effort_that_cut_a_design_short_is_named_too(effort, folder):
    """A design that was not cut short can only fail for what was released."""
    privatize_parquet(folder / "raw.parquet", folder / "out.parquet", responding(is_cut=effort is None), force=True)
    found = verified(folder, responding(is_cut=effort == 1).set_params(time_limit=None))
    assert not found.ok
    is_named = "give the channel" in found.checks[0].detail
    assert is_named == (found.checks[0].detail.count("cut short") > 0) == (effort == 1)


def test_the_command_takes_the_channel_that_a_release_wrote(folder, tmp_path, capsys):
    from sanitize.cli import main

    (tmp_path / "cut.toml").write_text(POLICY + "effort = 1\n")
    (tmp_path / "policy.toml").write_text(POLICY)
    out, channel = str(tmp_path / "out.parquet"), str(tmp_path / "channel.json")
    source = str(folder / "raw.parquet")
    assert main(["release", source, "-o", out, "-p", str(tmp_path / "cut.toml"), "--channel", channel]) == 0
    asked = ["verify", out, "--source", source, "-p", str(tmp_path / "policy.toml")]
    assert main(asked) == 1
    assert "which release --channel writes" in capsys.readouterr().out
    assert main([*asked, "--channel", channel]) == 0
    assert main([*asked, "--channel", str(tmp_path / "none.json")]) == 3
    assert main([*asked, "--channel", str(tmp_path / "policy.toml")]) == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 2, said


def test_a_joint_release_with_a_part_that_was_cut_off_passes_by_its_channel(folder):
    def joint(*, is_cut=False):
        part = responding(is_cut=is_cut).set_params(sensitive=None, public=["x"])
        return JointRelease([("x", part)], 3.0, sensitive="s", keep="z")

    made = joint(is_cut=True)
    privatize_parquet(folder / "raw.parquet", folder / "out.parquet", made, force=True)
    found = verified(folder, joint(), channel=made.channel_)
    assert found.ok, str(found)


# --------------------------------------------------------------------------------- it is not trusted


def test_a_channel_over_the_budget_fails_whatever_it_is_called(folder):
    cut(folder)
    symbols = sz.SavedRelease.of(responding(is_cut=True).fit(folder / "raw.parquet")).channel.inputs
    found = verified(folder, responding(), channel=Channel.identity(len(symbols), symbols))
    assert_caught(found, "design", "exceeds its budget")


def test_a_budget_for_all_laws_is_asked_of_the_channel_too(folder):
    """Within the budget under the frequencies, not under all laws that they allow."""
    made = cut(folder)
    assert_caught(verified(folder, responding(confidence=0.95), channel=made.channel_), "design", "exceeds its budget")


def test_rows_that_were_not_drawn_fail_by_a_good_channel(folder):
    made = cut(folder)
    raw = pq.read_table(folder / "raw.parquet").select(["x", "z"])
    order = np.random.default_rng(1).permutation(raw.num_rows)
    summary = pq.read_metadata(folder / "out.parquet").metadata[b"sanitize"]
    raw = raw.take(order).replace_schema_metadata({"sanitize": summary})
    pq.write_table(raw, folder / "out.parquet", store_schema=False, compression="zstd")
    assert_caught(verified(folder, responding(), channel=made.channel_), "frequencies")


def test_a_channel_for_another_table_is_none(folder):
    made = cut(folder)
    letters = made.channel_.inputs.decode(np.arange(made.channel_.n_inputs))
    other = Alphabet.from_table({"x": letters["x"], "z": pa.array(["SECRET"] * made.channel_.n_inputs)}, ["x", "z"])
    channel = Channel(made.channel_.stages, other, made.channel_.outputs)
    assert_caught(verified(folder, responding(), channel=channel), "design", "other public symbols than those of the")


@pytest.mark.parametrize("output", ["resample", "label"])
def test_a_channel_prints_nothing_but_what_it_may(output, folder):
    """No budget speaks of names, so a name could say anything of anybody."""
    made = cut(folder, output=output).channel_
    if output == "resample":
        said = [Alphabet(made.outputs.columns, [(x, f"{z} SECRET") for x, z in made.outputs.symbols])]
        said += [Alphabet(("x", "SECRET"), made.outputs.symbols)]
    else:
        labels = [str(name) for name in made.outputs.symbols]
        others = [[f"{name} SECRET" for name in labels], [twice_off(name) for name in labels]]
        others += [[re.sub(r"\d+%", share, name) for name in labels] for share in ("%", "9" * 5000 + "%")]
        said = [Alphabet.of_n_labels("x+z", len(labels), lambda names=names: names) for names in others]
        said += [Alphabet.of_n_labels("SECRET", len(labels), lambda: labels)]
    for outputs in said:
        found = verified(folder, responding(output=output), channel=Channel(made.stages, made.inputs, outputs))
        assert_caught(found, "design", "no public value of the source and no label that it earns")


def twice_off(label):
    """A label whose shares are two hundredths off."""
    return re.sub(r"(\d+)%", lambda found: f"{int(found[1]) + 2}%", label)


def test_rare_symbols_stay_one(folder):
    made = cut(folder)
    found = verified(folder, responding(min_count=150), channel=made.channel_)
    assert_caught(found, "design", "tells rare symbols apart")


def test_designs_without_a_clock_take_no_channel(folder):
    made = cut(folder)
    merging = SubsetMerging(0.3, sensitive="s", public=["x", "z"])
    with pytest.raises(InvalidParameter, match="SubsetMerging has no time limit, so its channel is designed again"):
        verified(folder, merging, channel=made.channel_)
    pairs = [(folder / "out.parquet", folder / "raw.parquet")]
    with pytest.raises(InvalidParameter, match="channels of their own"):
        verified(folder, responding(), channel=made.channel_, against=pairs)
    assert verified(folder, made).ok  # without a cut, nothing is asked
