"""Rows printed by a model: distributed as it says, inside the drawn cell, and nobody's."""

from __future__ import annotations

import datetime
import itertools
import json
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.stats import chisquare

import sanitize as sz
from sanitize._files.declared import Misfit, plain, read
from sanitize.printing import Printer, RowModel
from sanitize.printing._dependence import _KIND_LANE, of_kinds
from sanitize.printing._dependence import _KINDS as N_KINDS
from sanitize.printing._edges import WHOLE, chances, faded, shares
from sanitize.printing._evidence import LARGEST, messages, regions
from sanitize.printing._nodes import Node, Values, determined
from sanitize.printing._values import OTHER
from sanitize.trees import LEAST_ROWS, grow

KEY = sz.NoiseKey(bytes(range(32)))
RARE = 1e-6  # rate of false alarms of each statistical test below; all seeds are fixed


def people(n: int = 12_000, seed: int = 0) -> dict[str, np.ndarray]:
    """Three columns that depend on one another, and on what the tree looks at."""
    rng = np.random.default_rng(seed)
    town = rng.choice(["A", "B", "C", "D"], n, p=[0.4, 0.3, 0.2, 0.1])
    rooms = np.clip(rng.poisson(2 + (town == "A")), 0, 4)
    pet = np.where(rng.random(n) < 0.2 + 0.1 * rooms, "cat", "dog")
    return {"town": town, "rooms": rooms, "pet": pet}


def modelled(table, n_blocks=4, n_cells=12, **settings):
    n = len(next(iter(table.values())))
    secrets = np.random.default_rng(1).integers(0, 2, n)
    limits = {"max_blocks": n_blocks, "max_cells": n_cells, "min_rows": 50, "min_cell_rows": 20}
    budget = sz.LiftBudget(lower=5.0, upper=5.0)
    grown = grow(table, secrets, budget, **limits)
    return RowModel.fit(table, grown.tree, grown.cells, KEY, **settings), grown


def drawn(model, cells, seed=0) -> pd.DataFrame:
    printed = model.decode(np.asarray(cells), sz.NoiseKey.from_seed(seed))
    return pd.DataFrame({name: column.to_pandas() for name, column in printed.items()})


def exact(model, cell) -> dict[tuple, float]:
    """P(states | cell) from the definition: chances times weights of the cell, over all kinds and states."""
    found: dict[tuple, float] = {}
    kinds = range(len(model.nodes[0].chances))
    for kind, *states in itertools.product(kinds, *(range(node.chances.shape[2]) for node in model.nodes)):
        weight = 1.0
        for node, state in zip(model.nodes, states, strict=True):
            given = states[node.parent] if node.parent >= 0 else 0
            weight *= float(node.chances[kind, given, state]) / WHOLE
            evidence = node.evidence
            weight *= float(evidence.weights[evidence.region[cell], evidence.group[state]])
            weight *= bool(evidence.boxes[evidence.box[cell], state])
        if weight:
            found[tuple(states)] = found.get(tuple(states), 0.0) + weight
    total = sum(found.values())
    return {states: weight / total for states, weight in found.items()}


@pytest.mark.slow
@pytest.mark.parametrize("kinds_are", ["learned", "nothing alike"])
def test_states_are_drawn_as_the_definition_says(kinds_are):
    model, grown = modelled(people())
    if kinds_are == "nothing alike":
        rng, others = np.random.default_rng(3), []
        for node in model.nodes:
            distribution = rng.random(node.chances.shape) ** 4 * (node.chances > 0)
            distribution /= distribution.sum(axis=(0, 2) if node.parent < 0 else 2, keepdims=True)
            others.append(node.__replace__(chances=(distribution * WHOLE).astype(np.int64)))
        model = model.__replace__(nodes=tuple(others))
    assert len(model.nodes) == 3
    assert len(model.nodes[0].chances) == N_KINDS
    assert not model.forbidden
    n = 40_000
    for cell in range(grown.tree.n_cells):
        distribution = exact(model, cell)
        states = model._drawn(np.full(n, cell), sz.NoiseKey.from_seed(cell), np.arange(n), 0)
        seen: dict[tuple[int, ...], int] = {}
        for row in map(tuple, states.T.tolist()):
            seen[row] = seen.get(row, 0) + 1
        assert set(seen) <= set(distribution)
        expected = np.array([distribution[states] * n for states in distribution])
        observed = np.array([seen.get(states, 0) for states in distribution])
        often = expected >= 5
        counts = np.array([[*observed[often], observed[~often].sum()], [*expected[often], expected[~often].sum()]])
        counts = counts[:, counts[1] > 0]
        if counts.shape[1] > 1:
            p_value = chisquare(counts[0], counts[1] * counts[0].sum() / counts[1].sum()).pvalue
            assert p_value > RARE / grown.tree.n_cells


def test_messages_are_exact_whatever_is_added_up_first():
    """Against Python's own whole numbers: doubles and linear algebra lose nothing."""
    rng = np.random.default_rng(0)
    parents, sizes, cells, kinds = [-1, 0, 0, 1], [5, 180, 3, 40], 7, 3
    shapes = [(kinds, 1 if p < 0 else sizes[p], n) for p, n in zip(parents, sizes, strict=True)]
    tables = [rng.integers(0, WHOLE, shape) for shape in shapes]
    tables = [np.floor(t / t.sum(axis=2, keepdims=True) * WHOLE) for t in tables]
    evidence = [np.floor(rng.integers(0, 4097, (cells, n)) * (rng.random((cells, n)) < 0.7)) for n in sizes]
    fast = messages(parents, tables, evidence)

    def scaled(rows):
        factor = LARGEST / max(max(map(max, rows)), 1.0)
        return [[int(np.ceil(float(value) * factor)) for value in row] for row in rows]

    for cell in range(cells):
        slow = [scaled([[int(v) for v in own[cell]]] * kinds) for own in evidence]
        for node in (3, 2, 1):
            up = [
                [sum(int(c) * m for c, m in zip(row, told, strict=True)) for row in table]
                for table, told in zip(tables[node], slow[node], strict=True)
            ]
            assert max(map(max, up)) < 1 << 53
            both = zip(slow[parents[node]], scaled(up), strict=True)
            slow[parents[node]] = scaled([[a * b for a, b in zip(*pair, strict=True)] for pair in both])
        for node in range(4):
            assert np.broadcast_to(fast[node][:, cell], (kinds, sizes[node])).tolist() == slow[node]


@pytest.mark.slow
def test_kinds_are_those_of_expectation_and_maximisation_row_by_row(monkeypatch):
    monkeypatch.setattr("sanitize.printing._dependence._PRIOR", 9_000.0)
    rng = np.random.default_rng(5)
    sizes, parents, n = (3, 4, 2), (-1, 0, 0), 900
    kind = rng.integers(0, 2, n)
    codes = [np.minimum(kind + rng.integers(0, size - 1, n) * (rng.random(n) < 0.7), size - 1) for size in sizes]
    nodes = [
        Node((), (pa.array(range(size)),), (np.zeros(size, bool),), code)
        for size, code in zip(sizes, codes, strict=True)
    ]
    given = [np.zeros(n, int) if parent < 0 else codes[parent] for parent in parents]
    rows, softly, tables = [], [], []
    for parent, size, code, above in zip(parents, sizes, codes, given, strict=True):
        counts = np.zeros((1 if parent < 0 else sizes[parent], size))
        np.add.at(counts, (above, code), 1)
        rows.append(counts)
        softly.append(faded(counts))
        tables.append((softly[-1] + 1) / (softly[-1] + 1).sum(axis=1, keepdims=True))
    made, n_told = of_kinds(nodes, parents, tables, KEY)

    prior, numbers = 9_000 / n, range(N_KINDS)
    drawn_words = KEY.words_at(_KIND_LANE, np.arange(N_KINDS * sum(r.size for r in rows)))
    starts = 0.5 + (drawn_words >> np.uint64(11)) * 2.0**-53
    starts = np.split(starts.reshape(-1, N_KINDS), np.cumsum([r.size for r in rows])[:-1])
    usual = [soft / np.maximum(soft.sum(axis=1, keepdims=True), 1) for soft in softly]
    ratios = [start.T.reshape(N_KINDS, *r.shape) for start, r in zip(starts, rows, strict=True)]
    share = [1 / N_KINDS] * N_KINDS
    for _ in range(40):
        own = [np.zeros((N_KINDS, *r.shape)) for r in rows]
        total = np.zeros(N_KINDS)
        for i in range(n):
            entries = [(above[i], code[i]) for above, code in zip(given, codes, strict=True)]
            weights = [share[k] * np.prod([ratios[j][k][entry] for j, entry in enumerate(entries)]) for k in numbers]
            for k in numbers:
                total[k] += weights[k] / sum(weights)
                for j, entry in enumerate(entries):
                    own[j][k][entry] += weights[k] / sum(weights) * softly[j][entry] / rows[j][entry]
        share = total / n
        for j, common in enumerate(usual):
            lines = own[j].sum(axis=2, keepdims=True)
            distribution = (own[j] + prior * common) / (lines + prior)
            ratios[j] = np.where(common > 0, distribution / np.where(common > 0, common, 1), 1.0)
    ratios[0] *= np.reshape(share, (-1, 1, 1))
    for j, table in enumerate(tables):
        slow = table * np.ceil(ratios[j] * 2**12) / 2**12
        slow /= slow.sum(axis=None if j == 0 else 2, keepdims=True)
        np.testing.assert_allclose(made[j], slow, atol=5e-4)  # a part of 2**-12 may be taken or not
    assert N_KINDS <= n_told <= N_KINDS * sum(r.size for r in rows)
    assert any(np.ptp(ratio, axis=0).max() > 0.2 for ratio in ratios)  # kinds differ, or the test says nothing


def test_a_row_draws_the_same_in_any_batch_by_any_number_of_threads():
    table = people() | {"pay": np.random.default_rng(3).lognormal(8, 1, 12_000).round(2)}
    model, grown = modelled(table)
    whole = drawn(model, grown.cells)
    for workers, size in ((1, 1), (1, 777), (3, 5000)):
        parts = [
            pa.table(model.decode(grown.cells[at : at + size], sz.NoiseKey.from_seed(0), at, workers)).to_pandas()
            for at in range(0, 6000 if size > 1 else 20, size)
        ]
        got = pd.concat([part.astype(str) for part in parts], ignore_index=True)
        pd.testing.assert_frame_equal(got, whole[: len(got)].astype(str))


def test_a_tree_of_half_the_rows_may_know_values_that_are_too_rare_in_all_of_them():
    """Of 700 words the 254 most frequent are told apart, and other ones by the half that a certified tree grows on."""
    rng = np.random.default_rng(0)
    day = rng.integers(0, 700, 20_000)
    ill = rng.random(len(day)) < 0.2 + 0.3 * (day % 7 == 0)
    table = pd.DataFrame(
        {"ill": ill, "day": [f"2020-{number}" for number in day], "age": rng.integers(0, 50, len(day))}
    )
    design = sz.TreeRandomResponse(sz.LiftBudget(lower=1, upper=0.5), sensitive="ill", confidence=0.9, random_state=0)
    printed = design.fit(table).transform(table)
    assert design.report_.ok
    assert set(printed["day"]) <= {*table["day"], "(other)"}
    assert printed["day"].nunique() > 200


def test_printed_rows_lie_in_the_drawn_cell():
    table = people(3000) | {"pay": np.random.default_rng(3).lognormal(8, 1, 3000).round(2)}
    model, grown = modelled(table, n_cells=40)
    again = grown.tree.assign(dict(drawn(model, grown.cells).items()))
    np.testing.assert_array_equal(again, grown.cells)


@pytest.mark.parametrize("least", [10_000, 1 << 30])
def test_what_three_columns_have_together_is_printed_from_ten_thousand_rows_on(monkeypatch, least):
    """Columns that are independent in each of four hidden kinds: a tree of pairs loses them, a mixture of trees not."""
    monkeypatch.setattr("sanitize.printing._model.KINDS_ROWS", least)
    rng = np.random.default_rng(2)
    n = 20_000
    kind = rng.integers(0, 4, n)
    table = {f"c{j}": np.where(rng.random(n) < 0.6, (kind >> j % 2) & 1, rng.integers(0, 2, n)) for j in range(6)}
    model, grown = modelled(table, n_blocks=1, n_cells=1)
    printed = drawn(model, grown.cells, 1)
    # In each kind half of six columns agree in 0.34 of pairs more than by chance; a chain loses that with each step.
    off = [
        abs(np.corrcoef(table[one], table[other])[0, 1] - np.corrcoef(printed[one], printed[other])[0, 1])
        for one, other in itertools.combinations(table, 2)
    ]
    triples = [
        abs(np.mean(table[a] & table[b] & table[c]) - np.mean(printed[a] & printed[b] & printed[c]))
        for a, b, c in itertools.combinations(table, 3)
    ]
    assert (max(off) < 0.1 and max(triples) < 0.02) == (least == 10_000), (off, triples)


def test_what_is_printed_for_a_region_looks_like_the_region(monkeypatch):
    """Total variation of the columns of regions of some 2,000 rows, in the mean."""
    rng = np.random.default_rng(2)
    n = 20_000
    first, second = rng.integers(0, 6, n), rng.integers(0, 6, n)
    third = (first * second + rng.integers(0, 3, n)) % 6  # of both together, which no tree of pairs can have
    table = {"first": first, "second": second, "third": third, "noise": rng.integers(0, 6, n)}
    off = []
    monkeypatch.setattr("sanitize.printing._dependence._KINDS", 1)
    for rounds in (3, 0):
        monkeypatch.setattr("sanitize.printing._evidence._ROUNDS", rounds)
        model, grown = modelled(table, n_blocks=60, n_cells=60)
        region = regions(grown.tree)
        assert 8 <= region.max() + 1 <= 32
        assert np.bincount(region, grown.tree.n_rows[grown.tree.cell_nodes]).max() <= n / 8
        cells = np.repeat(grown.cells, 4)
        printed = drawn(model, cells, 1)
        distances = []
        for name, column in table.items():
            real, made = (
                pd.crosstab(region[c], v, normalize="index").reindex(columns=range(6), fill_value=0).to_numpy()
                for c, v in ((grown.cells, column), (cells, printed[name].to_numpy()))
            )
            distances += (np.abs(real - made).sum(axis=1) / 2).tolist()
        off.append(np.mean(distances))
    assert off[0] < 0.02 < off[1], off


@pytest.mark.parametrize("t", [LEAST_ROWS - 1, LEAST_ROWS])
def test_an_entry_of_ten_rows_fades_in(t):
    assert faded(np.array([t]))[0] == 0
    assert faded(np.array([LEAST_ROWS + 1]))[0] < 2
    assert faded(np.array([1000]))[0] == pytest.approx(1000, rel=1e-3)


def test_chances_keep_both_margins_and_what_is_banned_never_occurs():
    rng = np.random.default_rng(0)
    counts = rng.poisson(rng.gamma(0.5, 40, (6, 9)))
    a, b = shares(counts.sum(axis=1)), shares(counts.sum(axis=0))
    banned = np.zeros((6, 9), bool)
    banned[2, 3] = banned[4, 4] = True
    groups = [(np.arange(6), np.arange(9)), (np.arange(6) // 2, np.arange(9) // 3)]
    found, n_used = chances(counts, a, b, banned, groups, 4.0)
    assert n_used in (np.count_nonzero(counts > LEAST_ROWS), 6)
    assert not found[banned].any()
    np.testing.assert_allclose(found.sum(axis=1), 1)
    np.testing.assert_allclose((found * a[:, None]).sum(axis=0), b, atol=1e-5)


def test_pairs_are_counted_as_finely_as_they_are_worth():
    """States of a group that differ by a quarter tell 1/32 nats; they take 32 more counts, at a price / 2n each."""
    n = 3600
    fine = 1 + 0.25 * (-1.0) ** np.add.outer(np.arange(6), np.arange(6))
    half = np.kron([[1.3, 0.7], [0.7, 1.3]], np.ones((3, 3)))
    counts = np.rint(n / 36 * half * fine).astype(int)
    a, b = shares(counts.sum(axis=1)), shares(counts.sum(axis=0))
    groups = [(np.arange(6) // most, np.arange(6) // most) for most in (1, 3)]
    never = np.zeros((1, 1), bool)
    assert [chances(counts, a, b, never, groups, price)[1] for price in (4.0, 16.0)] == [36, 4]


def test_nobodys_row_is_printed_and_rare_values_have_a_word():
    """Incomes name everybody; towns of fewer than ten people are others."""
    rng = np.random.default_rng(4)
    n = 3000
    town = np.where(rng.random(n) < 0.03, rng.integers(0, 60, n).astype(str), rng.choice(["A", "B"], n))
    table = {"town": town, "age": rng.integers(18, 90, n), "income": rng.lognormal(10, 0.4, n).round(2)}
    model, grown = modelled(table)
    printed = drawn(model, grown.cells)
    assert not set(map(tuple, pd.DataFrame(table).to_numpy())) & set(map(tuple, printed.to_numpy()))
    often = {value for value, k in zip(*np.unique(town, return_counts=True), strict=True) if k >= LEAST_ROWS}
    assert OTHER in set(printed["town"]) <= often | {OTHER}
    assert abs((printed["town"] == OTHER).mean() - np.mean(~np.isin(town, list(often)))) < 0.02
    assert ((printed["income"] * 100).round(6) % 1 == 0).all()


def test_a_value_is_listed_for_what_it_has_beyond_the_values_beside_it():
    """Minutes of 25 to 35 rows each are any number; a heap of hundreds at 61 is a value."""
    rng = np.random.default_rng(4)
    minutes = np.append(np.repeat(np.arange(600), rng.integers(25, 36, 600)), np.full(400, 61))
    model, grown = modelled({"minutes": minutes, "other": rng.integers(0, 4, len(minutes))}, n_cells=2)
    column = model.columns[0]
    levels = [column.ends[k] for k in range(len(column.ends) - 1)]
    wide = [low for low, high in levels if high > low]
    assert len(wide) > 20
    assert set(column.values.to_pylist()) - {low for low, high in levels if low == high} <= {61}
    printed = drawn(model, grown.cells)["minutes"].to_numpy()
    assert abs((printed == 61).mean() - (minutes == 61).mean()) < 0.005
    assert len(np.unique(printed)) > 590


def kinds(n: int = 2500) -> dict[str, pa.Array]:
    rng = np.random.default_rng(6)
    k = rng.integers(0, 30, n)
    some = rng.random(n) < 0.1
    day = np.datetime64("2021-03-01") + k
    return {
        "text": pa.array([f"v{x}" for x in k], mask=some),
        "large": pa.array([f"v{x}" for x in k], pa.large_string()),
        "view": pa.array([f"v{x}" for x in k], pa.string_view()),
        "bytes": pa.array([b"%d" % x for x in k]),
        "dictionary": pa.array([f"v{x}" for x in k]).dictionary_encode(),
        "flag": pa.array(k > 20, mask=some),
        "small": pa.array(k.astype(np.int8)),
        "unsigned": pa.array(k.astype(np.uint64) + np.uint64(2**63)),
        "half": pa.array(k.astype(np.float16)),
        "single": pa.array((k / 10).astype(np.float32), mask=some),
        "double": pa.array(rng.normal(size=n), mask=some),
        "money": pa.array([Decimal(int(x)) / 4 for x in k], pa.decimal128(9, 2)),
        "date": pa.array(day),
        "date64": pa.array(day.astype("M8[ms]"), pa.date64()),
        "noon": pa.array(day.astype("M8[s]"), pa.timestamp("s")),
        "zoned": pa.array(day.astype("M8[us]"), pa.timestamp("us", "Europe/Paris")),
        "clock": pa.array([datetime.time(int(x) % 24, 30) for x in k], pa.time32("s")),
        "span": pa.array(k.astype("m8[h]").astype("m8[ms]"), pa.duration("ms")),
        "nothing": pa.nulls(n),
        "empty": pa.nulls(n, pa.float64()),
        "one": pa.array(["same"] * n),
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", kinds())
def test_every_type_is_printed_in_its_own_type_with_its_own_values(name):
    table = {name: kinds()[name], "other": pa.array(np.random.default_rng(0).integers(0, 4, 2500))}
    model, grown = modelled(table)
    printed = model.decode(grown.cells, KEY)[name]
    plain = printed.dictionary.type if isinstance(printed, pa.DictionaryArray) else printed.type
    raw = table[name].type
    wanted = raw.value_type if pa.types.is_dictionary(raw) else raw
    wider = {"large_string": "string", "string_view": "string"}
    assert str(plain) == wider.get(str(wanted), str(wanted))
    old, new = ([v for v in column.to_pylist() if v is not None] for column in (table[name], printed))
    if name in ("double", "nothing", "empty"):
        assert (len(old) > 0) == (len(new) > 0)
        return
    assert set(new) <= set(old)
    share = sum(v is None for v in printed.to_pylist()) / 2500
    assert abs(share - table[name].null_count / 2500) < 0.05
    # Total variation of what is printed from what was there: 30 values, 2,500 draws.
    counts = [pd.Series(values).value_counts(normalize=True) for values in (old, new)]
    assert counts[0].sub(counts[1], fill_value=0).abs().sum() / 2 < 0.12


@pytest.mark.slow
@pytest.mark.parametrize("n", [2500, 12_000])
def test_a_printer_is_read_back_from_plain_values_and_draws_the_same(n):
    table = {name: column for name, column in kinds(n).items() if name != "nothing"}
    model, grown = modelled(table)
    assert len(model.nodes[0].chances) == (1 if n == 2500 else N_KINDS)
    again = read(Printer, json.loads(json.dumps(plain(model))))
    for name, column in model.decode(grown.cells, KEY).items():
        assert column.equals(again.decode(grown.cells, KEY)[name]), name
    with pytest.raises(Misfit, match="kind must be one of"):
        read(Printer, {"kind": "rows"})


def test_damaged_kinds_are_refused():
    """Exact sums of products hold for chances that sum to 2**26, of the first node over all kinds together."""
    model, _ = modelled(people())
    first, second, *rest = model.nodes
    fewer, none = (second.__replace__(chances=second.chances[:kept]) for kept in (2, 0))
    for damaged in ((first.__replace__(chances=first.chances[:2]), second), (first, fewer), (first, none)):
        with pytest.raises(Misfit):
            model.__replace__(nodes=(*damaged, *rest))
    for node in (first, second):
        for wrong in (2 * node.chances, 0 * node.chances, node.chances[0]):
            with pytest.raises(Misfit):
                node.__replace__(chances=wrong)


def test_one_column_is_printed_by_kinds_too():
    table = {"rooms": people()["rooms"]}
    model, grown = modelled(table)
    assert len(model.nodes) == 1 < len(model.nodes[0].chances)
    printed = drawn(model, np.repeat(grown.cells, 5))["rooms"]
    off = printed.value_counts(normalize=True) - pd.Series(table["rooms"]).value_counts(normalize=True)
    assert off.abs().max() < 0.02


def test_dependences_are_found_and_never_broken():
    """Codes and names, days and their years, towns and regions with rare towns; and none that chance makes."""
    rng = np.random.default_rng(8)
    n = 6000
    code = rng.choice(60, n, p=(w := 1 / np.arange(1, 61)) / w.sum())
    day = np.datetime64("2015-01-01") + rng.integers(0, 2500, n)
    table = {
        "name": np.array([f"town {c}" for c in code]),
        "code": code,
        "region": np.array([f"region {c % 5}" for c in code]),
        "day": day,
        "year": day.astype("M8[Y]").astype(int) + 1970,
        "amount": rng.lognormal(8, 1, n),
        "free": rng.integers(0, 5, n),
    }
    assert determined(Values({k: pa.array(v) for k, v in table.items()}, {}, {})) == {
        "code": "name",
        "region": "name",
        "year": "day",
    }
    model, grown = modelled(table, n_cells=60)
    printed = drawn(model, grown.cells)
    assert (printed["day"].to_numpy().astype("M8[Y]").astype(int) + 1970 == printed["year"]).all()
    known = printed[printed["name"] != OTHER]
    assert len(known) > 5500
    assert (known["name"] == "town " + known["code"].astype(int).astype(str)).all()
    assert (known["region"] == "region " + (known["code"].astype(int) % 5).astype(str)).all()


def test_pairs_that_hardly_anybody_has_are_not_printed():
    """Husbands who are women: 2 of 10,000 rows, where chance would give 2,000."""
    rng = np.random.default_rng(9)
    n = 10_000
    sex = rng.choice(["f", "m"], n)
    kin = np.where(rng.random(n) < 0.4, np.where(sex == "m", "husband", "wife"), "single")
    kin[:2], sex[:2] = "husband", "f"
    # Columns between them in the tree of columns, so that the pair is none of its edges.
    beside = {f"c{k}": np.where(rng.random(n) < 0.9, kin, sex) for k in range(2)}
    table = {"sex": sex, **beside, "kin": kin, "age": rng.integers(18, 80, n)}
    model, grown = modelled(table, n_blocks=2, n_cells=2)
    printed = drawn(model, grown.cells)
    assert not ((printed["sex"] == "f") & (printed["kin"] == "husband")).any()
    assert abs((printed["kin"] == "husband").mean() - (kin == "husband").mean()) < 0.05


def test_one_cell_prints_rows_that_have_no_link_to_those_of_the_table():
    df = pd.DataFrame(people(5000)).assign(ill=np.random.default_rng(0).random(5000) < 0.3)
    fitted = sz.TreeRandomResponse(sz.LiftBudget(lower=1, upper=0.5), sensitive="ill", max_cells=1, random_state=0).fit(
        df
    )
    assert fitted.tree_.n_cells == 1
    assert fitted.report_.summary["mutual_information"] == 0
    released = fitted.transform(df)
    for name in released:
        both = pd.crosstab(df[name].to_numpy(), released[name].to_numpy())
        p = chisquare(
            both.to_numpy().ravel(), (both.sum(axis=1).to_numpy()[:, None] * both.sum(axis=0).to_numpy() / 5000).ravel()
        )
        assert p.statistic / both.size < 4


def test_few_rows_say_that_membership_is_not_protected():
    many, few = (modelled(people(n))[0] for n in (12_000, 800))
    assert "membership is not protected" in few.told
    assert 0.5 < many.membership < 0.6
    assert f"{many.membership:.0%}" in many.told
