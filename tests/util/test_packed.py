"""Arrow arrays as text: they come back without loss, and what others wrote is checked before anything follows it."""

from __future__ import annotations

import base64
import json
import random
import struct

import numpy as np
import pyarrow as pa
import pytest

import sanitize as sz
from sanitize._util.declared import SchemaError, read
from sanitize._util.sealed_text import compute_seal, pack_array, unpack_array
from sanitize.errors import InvalidChannel, LedgerError

ROWS = {"s": ["p", "n", "n", "p"] * 100, "x": np.arange(400) % 80}
FIT = {"sensitive": "s", "public": "x", "bins": {"x": [0, 20, 40, 80]}}
BUDGET = sz.LiftBudget(lower=9.0, upper=9.0)


def written(batch: pa.RecordBatch, **options: str) -> str:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_batch(batch)
    return base64.b64encode(sink.getvalue()).decode()


def text_far_away() -> str:
    """Text whose last value ends two gigabytes behind the buffer that holds it."""
    content = base64.b64decode(pack_array(pa.array(["abc", "de", "fghi"])))
    honest, lie = (struct.pack("<4i", 0, 3, 5, end) for end in (9, 2**31 - 1))
    assert content.count(honest) == 1
    return base64.b64encode(content.replace(honest, lie)).decode()


BOMB = written(pa.record_batch([pa.array(["y" * (1 << 24)])], names=["v"]), compression="zstd")
DAMAGED = {
    "far away": text_far_away(),
    "compressed": BOMB,
    "dictionary": pack_array(pa.array(["a", "b"]).dictionary_encode()),
    "two columns": written(pa.record_batch([pa.array([1]), pa.array([2])], names=["v", "w"])),
    "nothing": "",
    "no base64": "?",
    "no text": 7,
}


@pytest.mark.parametrize(
    "array", [pa.array(["a", None]), pa.array([], pa.int8()), pa.array([0.1]), pa.array([1], pa.timestamp("ns", "UTC"))]
)
def test_an_array_comes_back_as_it_was(array):
    assert unpack_array(pack_array(array)).equals(array)


@pytest.mark.parametrize("kind", DAMAGED)
def test_what_is_damaged_or_would_unfold_is_refused_before_it_is_looked_at(kind):
    assert len(BOMB) < 10_000
    with pytest.raises(ValueError, match="or it is damaged"):
        unpack_array(DAMAGED[kind])
    with pytest.raises(SchemaError, match="it is damaged"):
        read(pa.Array, DAMAGED[kind])


@pytest.mark.parametrize("kind", DAMAGED)
def test_a_channel_and_a_sealed_ledger_of_damaged_values_are_refused(kind, tmp_path):
    sanitizer = sz.SubsetMerging(BUDGET, **FIT).fit(pa.table(ROWS))
    channel = json.loads(sanitizer.channel_.to_json())
    channel["inputs"]["levels"][0] = DAMAGED[kind]
    with pytest.raises(InvalidChannel, match="damaged"):
        sz.Channel.from_json(json.dumps(channel))
    ledger = sz.Ledger(tmp_path / "book", BUDGET)
    ledger.record(pa.table(ROWS), sanitizer)
    whole = json.loads(ledger.path.read_text())
    for place, name in ((whole["releases"][0]["bins"]["x"], "symbols"), (whole["releases"][0], "channel")):
        before = place[name]
        place[name] = DAMAGED[kind] if name == "symbols" else channel
        ledger.path.write_text(json.dumps(whole | {"sha256": compute_seal(whole)}))
        with pytest.raises(LedgerError, match="damaged"):
            sz.Ledger(ledger.path)
        place[name] = before


@pytest.mark.parametrize(
    ("part", "value", "words"),
    [
        ("codes", [[0], [0], [1]], "distinct and in ascending order"),
        ("codes", [[0], [1], [9]], "a code without a value"),
        ("columns", [7], r"columns\[0\] must be text"),
        ("columns", ["x", "x"], "columns must be named, each once"),
        ("levels", [pack_array(pa.array(["a", "a", "b"]))], "distinct"),
        ("levels", [pack_array(pa.array([[1], [2], [3]]))], "the type list"),
    ],
)
def test_symbols_that_no_table_could_have_given_are_no_channel(part, value, words):
    channel = json.loads(sz.SubsetMerging(BUDGET, **FIT).fit(pa.table(ROWS)).channel_.to_json())
    channel["inputs"][part] = value
    with pytest.raises(InvalidChannel, match=words):
        sz.Channel.from_json(json.dumps(channel))


def test_random_damage_is_refused_or_harmless():
    """In 500 draws, of which about a tenth still are arrays."""
    rng, harmless = random.Random(0), 0
    good = [base64.b64decode(pack_array(array)) for array in (pa.array(["a", None, "bcd"]), pa.array([1, 2]))]
    for _ in range(500):
        bad = bytearray(rng.choice(good))
        for _ in range(rng.choice((1, 2, 4))):
            bad[rng.randrange(len(bad))] = rng.randrange(256)
        try:
            unpack_array(base64.b64encode(bytes(bad)).decode()).to_pylist()
        except (ValueError, OverflowError):
            continue
        harmless += 1
    assert 10 < harmless < 250
