"""Estimates from releases: exact expectations by enumeration, closed forms, coverage, and what is refused."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import strategies
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import expit

import sanitize as sz
from sanitize.auditing.analyze._records import solve_scores
from sanitize.core.alphabet import Alphabet
from sanitize.errors import ColumnError, InvalidChannel, InvalidParameter, SourceError

TOWNS = Alphabet(("town", "owns"), [(town, owns) for town in "AB" for owns in ("no", "yes")])


def distribution_and_channel():
    return st.integers(2, 3).flatmap(lambda n_x: st.tuples(strategies.channels(n_x), weights(n_x)))


def weights(n_x):
    return st.lists(st.integers(1, 5), min_size=n_x, max_size=n_x).map(lambda given: np.array(given) / sum(given))


def released_rows(channel, codes):
    """A table of released codes."""
    return pa.table(channel.outputs.decode(np.asarray(codes)))


def grouped(names, p_x):
    """Shares of the cells of a table, some of them merged, under a distribution of numbered symbols."""
    return [sum(p_x[int(part)] for part in name.strip("{}").split(", ")) for name in names]


@settings(max_examples=25)
@given(distribution_and_channel())
def test_tables_are_unbiased_and_so_are_their_errors(drawn):
    """Every pair of released rows, with its probability: no sampling, no algebra of the library."""
    channel, p_x = drawn
    p_y = p_x @ channel.matrix
    assume(p_y.min() > 0 and channel.n_outputs <= 4)
    share = second = covariance = 0.0
    for pair in itertools.product(range(channel.n_outputs), repeat=2):
        found = sz.auditing.analyze.table(released_rows(channel, pair), channel, "x")
        chance = p_y[list(pair)].prod()
        share += chance * found.estimate
        second += chance * np.outer(found.estimate, found.estimate)
        covariance += chance * found.covariance
    size = 1 + abs(second).max()
    assert_allclose(share, grouped(found.names, p_x), atol=1e-7 * size)
    assert_allclose(covariance, second - np.outer(share, share), atol=1e-6 * size)


@given(st.integers(1, 6).flatmap(strategies.channels))
def test_scores_give_back_what_the_channel_tells_apart_and_nothing_else(channel):
    """A cell stands alone exactly where its indicator is a combination of the columns of the channel."""
    n = channel.n_inputs
    groups, scores = solve_scores(channel, np.arange(n, dtype=np.int32), n)
    indicators = (groups[:, None] == np.arange(groups.max() + 1)).astype(float)
    assume(
        np.linalg.cond(channel.matrix) < 1e6 or np.linalg.matrix_rank(channel.matrix, 1e-6) < min(n, channel.n_outputs)
    )
    assert_allclose(channel.matrix @ scores, indicators, atol=1e-6)
    for cell in np.eye(n):
        best = np.linalg.lstsq(channel.matrix, cell, rcond=1e-9)[0]
        alone = np.bincount(groups)[groups[cell.argmax()]] == 1
        assert (abs(channel.matrix @ best - cell).max() < 1e-5) == alone


def test_merged_cells_are_one():
    channel = sz.Channel.merge([0, 0, 1, 2, 2]).renamed(inputs=Alphabet(("x",), list("abcde")))
    found = sz.auditing.analyze.table(released_rows(channel, [0, 1, 2, 2]), channel, "x")
    assert found.names == ("{a, b}", "c", "{d, e}")
    assert_allclose(found.estimate, [0.25, 0.25, 0.5])


def test_a_margin_may_be_told_where_the_symbols_are_not():
    channel = sz.Channel.merge([0, 0, 1, 1]).renamed(inputs=TOWNS)
    rows = released_rows(channel, [0, 0, 1, 0])
    assert sz.auditing.analyze.table(rows, channel, "town").names == ("A", "B")
    assert sz.auditing.analyze.table(rows, channel, "owns").names == ("{no, yes}",)
    assert sz.auditing.analyze.table(rows, channel, ["owns", "town"]).names == (
        "{no | A, yes | A}",
        "{no | B, yes | B}",
    )


def survey(n, seed, channel):
    """Released towns and owners, with rooms that were kept, of a distribution with a known model."""
    rng = np.random.default_rng(seed)
    town, rooms = rng.integers(0, 2, n), rng.integers(1, 4, n)
    owns = rng.random(n) < expit(-1 + 0.5 * rooms + 0.8 * town)
    source = pa.table({**TOWNS.decode(2 * town + owns), "rooms": rooms})
    return source, pa.table({**channel.outputs.decode(channel.sample(2 * town + owns, rng.bytes(32))), "rooms": rooms})


@pytest.fixture
def noisy():
    return sz.randomized_response(4, 2.0).renamed(inputs=TOWNS, outputs=TOWNS)


def test_kept_columns_stand_beside_released_ones(noisy):
    _, rows = survey(500, 1, noisy)
    both = sz.auditing.analyze.table(rows, noisy, ["rooms", "town"])
    assert both.names[:4] == ("A | 1", "A | 2", "A | 3", "B | 1")
    by_town, by_rooms = both.estimate.reshape(2, 3).sum(axis=1), both.estimate.reshape(2, 3).sum(axis=0)
    assert_allclose(by_town, sz.auditing.analyze.table(rows, noisy, "town").estimate)
    assert_allclose(by_rooms, np.bincount(rows["rooms"].to_numpy())[1:] / 500)
    alone = sz.auditing.analyze.table(rows, noisy, "rooms")
    assert_allclose(alone.standard_error, np.sqrt(by_rooms * (1 - by_rooms) / 499))
    summing = np.kron(np.ones((1, 2)), np.eye(3))
    assert_allclose(summing @ both.covariance @ summing.T, alone.covariance, atol=1e-12)


def test_means_of_kept_columns_are_those_of_pandas(noisy):
    _, rows = survey(400, 2, noisy)
    frame = rows.to_pandas()
    frame["floor"] = (frame["rooms"] + np.arange(400)) % 2
    frame["rent"] = frame["rooms"] * 1.5 + np.arange(400) % 7
    frame.loc[::9, "rent"] = None
    found = sz.auditing.analyze.mean(frame, noisy, "rent", by="floor")
    groups = frame.groupby("floor")["rent"]
    assert_allclose(found.estimate, groups.mean())
    assert_allclose(found.standard_error, groups.std(ddof=0) / np.sqrt(groups.count()), rtol=2e-3)
    assert sz.auditing.analyze.mean(frame, noisy, "rent").names == ("rent",)


def test_a_mean_is_that_of_its_table(noisy):
    ages = Alphabet(("age", "town"), [(age, town) for age in (20, 50, None) for town in "AB"])
    channel = sz.randomized_response(6, 3.0).renamed(inputs=ages, outputs=ages)
    rows = released_rows(channel, channel.sample(np.arange(600) % 6, 3))
    table = sz.auditing.analyze.table(rows, channel, ["town", "age"])
    found = sz.auditing.analyze.mean(rows, channel, "age", by="town")
    assert found.names == ("A", "B")
    assert table.names[:3] == ("A | 20", "A | 50", "A | (missing)")
    for town, start in enumerate((0, 3)):
        shares, errors = table.estimate[start : start + 2], table.covariance[start : start + 2, start : start + 2]
        right = shares @ [20, 50] / shares.sum()
        slope = (np.array([20, 50]) - right) / shares.sum()
        assert_allclose(found.estimate[town], right)
        assert_allclose(found.standard_error[town], np.sqrt(slope @ errors @ slope), rtol=2e-3)


def test_regression_of_a_table_of_four_cells_is_its_log_odds(noisy):
    """The saturated model has a closed form in the corrected table, and the delta method gives its errors."""
    _, rows = survey(4000, 4, noisy)
    table = sz.auditing.analyze.table(rows, noisy, ["town", "owns"])
    log_odds = np.array([[-1, 1, 0, 0], [1, -1, -1, 1]])
    found = sz.auditing.analyze.logistic(rows, noisy, "owns", "town")
    assert found.names == ("(intercept)", "town=B")
    assert_allclose(found.estimate, log_odds @ np.log(table.estimate), atol=1e-6)
    change = log_odds / table.estimate
    assert_allclose(found.covariance, change @ table.covariance @ change.T, rtol=2e-3)


def test_regression_of_kept_columns_maximises_the_likelihood(noisy):
    source, _ = survey(300, 5, noisy)
    untouched = sz.Channel.identity(1)
    found = sz.auditing.analyze.logistic(source, untouched, "owns", ["rooms", "town"])
    design = np.column_stack([np.ones(300), source["rooms"], source["town"].to_numpy() == "B"]).astype(float)
    owns = source["owns"].to_numpy() == "yes"

    def loss(at):
        return np.logaddexp(0, design @ at).sum() - (design @ at)[owns].sum()

    assert_allclose(found.estimate, minimize(loss, np.zeros(3), tol=1e-10).x, atol=1e-4)
    left_out = [
        sz.auditing.analyze.logistic(source.filter(np.arange(300) != i), untouched, "owns", ["rooms", "town"]).estimate
        for i in range(0, 300, 10)
    ]
    jackknife = np.sqrt(290 * np.var(left_out, axis=0))
    assert_allclose(found.standard_error, jackknife, rtol=0.5)  # of 30 rows left out in turn


def test_missing_values_are_left_out_of_a_regression(noisy):
    source, _ = survey(200, 6, noisy)
    frame = source.to_pandas()
    found = sz.auditing.analyze.logistic(frame, sz.Channel.identity(1), "owns", ["rooms", "town"])
    more = pd.concat([frame, frame.head(50).assign(rooms=None), frame.head(50).assign(owns=None)])
    again = sz.auditing.analyze.logistic(more, sz.Channel.identity(1), "owns", ["rooms", "town"])
    assert_allclose(again.estimate, found.estimate, atol=1e-7)
    assert_allclose(again.standard_error, found.standard_error, rtol=1e-2)


def test_blocks_of_rows_change_nothing(noisy, monkeypatch):
    _, rows = survey(300, 7, noisy)
    ask = lambda: (  # noqa: E731
        sz.auditing.analyze.mean(rows, noisy, "rooms", by="town"),
        sz.auditing.analyze.logistic(rows, noisy, "owns", "rooms"),
    )
    whole = ask()
    monkeypatch.setattr("sanitize.auditing.analyze._records.BLOCK_ROWS", 77)
    for one, other in zip(whole, ask(), strict=True):
        assert_allclose(one.estimate, other.estimate, rtol=1e-6)
        assert_allclose(one.covariance, other.covariance, rtol=1e-6)


@pytest.mark.slow
def test_intervals_cover_the_truth(noisy):
    """200 releases: a count of covered truths below 175 has probability 2e-5 at 95 %, and there are five counts."""
    covered = np.zeros(5)
    for seed in range(200):
        _, rows = survey(800, seed, noisy)
        table = sz.auditing.analyze.table(rows, noisy, "town")
        covered[0] += table.low[1] <= 0.5 <= table.high[1]
        found = sz.auditing.analyze.logistic(rows, noisy, "owns", ["rooms", "town"])
        covered[1:4] += (found.low <= [-1, 0.5, 0.8]) & (found.high >= [-1, 0.5, 0.8])
        rooms = sz.auditing.analyze.mean(rows, noisy, "rooms", by="town")
        covered[4] += rooms.low[0] <= 2 <= rooms.high[0]
    assert (covered >= 175).all(), covered
    assert (covered < 200).any(), covered  # all at once have probability 2e-4 even for one of them


def test_a_fitted_sanitizer_and_a_kept_channel_say_the_same(tmp_path):
    df = sz.datasets.load_titanic()
    sanitizer = sz.OptimalRandomResponse(
        sz.LiftBudget.symmetric(0.7), sensitive="survived", public=["class", "age"], min_count=0, random_state=0
    )
    released = sanitizer.fit_transform(df)
    kept = tmp_path / "channel.json"
    text = sanitizer.channel_.to_json(kept)
    assert kept.stat().st_mode & 0o777 == 0o600
    found = sz.auditing.analyze.table(released, sanitizer.channel_, "class")
    truth = df["class"].value_counts(normalize=True).sort_index()
    assert (abs(found.estimate - truth) < 5 * found.standard_error).all()
    for channel in (kept, str(kept), text):
        assert (sz.auditing.analyze.table(released, channel, "class").estimate == found.estimate).all()


def test_estimates_are_printed_and_framed(noisy):
    _, rows = survey(200, 8, noisy)
    found = sz.auditing.analyze.table(rows, noisy, "town", confidence=0.9)
    frame = found.to_frame()
    assert list(frame.index) == ["A", "B"]
    assert list(frame) == ["estimate", "standard_error", "low", "high"]
    assert_allclose(frame["high"] - frame["low"], 2 * 1.6448536 * found.standard_error)
    assert str(found).splitlines()[0].endswith("0.9 interval")
    assert len(str(found).splitlines()) == 3


def test_what_is_refused(noisy, tmp_path):
    _, rows = survey(100, 9, noisy)
    for ask, error, says in [
        (lambda: sz.auditing.analyze.table(rows, noisy, "twon"), ColumnError, "did you mean 'town'"),
        (lambda: sz.auditing.analyze.table(rows, noisy, []), InvalidParameter, "columns must name"),
        (lambda: sz.auditing.analyze.table(rows.slice(0, 1), noisy, "town"), InvalidParameter, "at least 2"),
        (lambda: sz.auditing.analyze.table(rows, noisy, "town", confidence=95), InvalidParameter, "confidence"),
        (lambda: sz.auditing.analyze.table(rows, "nowhere.json", "town"), SourceError, "nowhere.json"),
        (lambda: sz.auditing.analyze.table(rows, "{}", "town"), InvalidChannel, "not a channel"),
        (lambda: sz.auditing.analyze.table(rows, 3, "town"), InvalidChannel, "expected a Channel, got int"),
        (lambda: sz.auditing.analyze.mean(rows, noisy, "town"), ColumnError, "no numbers"),
        (lambda: sz.auditing.analyze.mean(rows, noisy, "rooms", by="rooms"), InvalidParameter, "by= must not"),
        (lambda: sz.auditing.analyze.logistic(rows, noisy, "rooms", "town"), InvalidParameter, "two values, got 3"),
        (
            lambda: sz.auditing.analyze.logistic(rows, noisy, "owns", ["owns"]),
            InvalidParameter,
            "must not name the outcome",
        ),
    ]:
        with pytest.raises(error, match=says):
            ask()


def test_rows_of_another_release_are_refused_without_their_values(noisy):
    rows = pa.table({"town": ["A", "Secretville"], "owns": ["no", "yes"]})
    with pytest.raises(ColumnError, match="1 of 2 rows have values of town, owns") as caught:
        sz.auditing.analyze.table(rows, noisy, "town")
    assert "Secretville" not in str(caught.value)


def test_what_the_channel_merges_has_no_mean_and_no_regression():
    channel = sz.Channel.merge([0, 0, 1, 1]).renamed(inputs=TOWNS)
    rows = released_rows(channel, [0, 1] * 20).append_column("rooms", pa.array(range(40)))
    with pytest.raises(InvalidParameter, match=r"'owns' is not determined .*\{no, yes\} of owns"):
        sz.auditing.analyze.logistic(rows, channel, "owns", "rooms")
    assert sz.auditing.analyze.mean(rows, channel, "rooms", by="owns").names == ("{no, yes}",)
    numbered = channel.renamed(inputs=Alphabet(("age",), [1, 2, 3, 4]))
    with pytest.raises(InvalidParameter, match="the mean of 'age' is not determined"):
        sz.auditing.analyze.mean(rows, numbered, "age")


def test_a_regression_without_a_solution_says_so(noisy):
    certain = pa.table({"owns": ["no", "no", "yes", "yes"], "rooms": [1, 2, 3, 4], "twice": [2, 4, 6, 8]})
    # In town C nobody owns: the likelihood grows towards a coefficient at minus infinity.
    nobody = pa.table(
        {"owns": ["no", "yes", "no", "yes", *["no"] * 9], "town": [*"AABB", *"C" * 9], "one": [1] * 13, "y": [0] * 13}
    )
    for rows, predictors in [
        (certain, "rooms"),
        (certain, ["rooms", "twice"]),
        (nobody, "town"),
        (nobody, "one"),
    ]:
        with pytest.raises(InvalidParameter, match="no solution"):
            sz.auditing.analyze.logistic(rows, sz.Channel.identity(1), "owns", predictors)


def test_a_regression_does_not_hang_on_the_scale_of_its_predictors(noisy):
    _, rows = survey(500, 10, noisy)
    found = sz.auditing.analyze.logistic(rows, noisy, "owns", ["rooms", "town"])
    moved = rows.append_column("year", pa.array(rows["rooms"].to_numpy() * 0.1 + 200))
    again = sz.auditing.analyze.logistic(moved, noisy, "owns", ["year", "town"])
    back = np.array([[1, 200, 0], [0, 0.1, 0], [0, 0, 1]])
    assert_allclose(back @ again.estimate, found.estimate, atol=1e-6)
    assert_allclose(back @ again.covariance @ back.T, found.covariance, rtol=1e-4)


def test_a_channel_too_large_to_undo_is_refused():
    channel = sz.randomized_response(2000, 1.0)
    rows = released_rows(channel, [0, 1])
    with pytest.raises(InvalidChannel, match="2000 to 2000 symbols is too large"):
        sz.auditing.analyze.table(rows, channel, channel.inputs.columns[0])


@pytest.mark.slow
@given(strategies.joints(min_s=2, max_x=5, max_s=3))
def test_an_optimal_random_response_keeps_the_margin(joint):
    plain = sz.optimal_random_response(joint, 0.4)
    kept = sz.optimal_random_response(joint, 0.4, keep_margin=True)
    assert kept.outputs == joint.public
    assert_allclose(joint.push(kept).p_x, joint.p_x, atol=1e-12)
    report = sz.LeakageReport.measure(joint, kept, sz.LiftBudget.symmetric(0.4))
    assert report.ok is not (report.state == "nothing")
    assert sz.normalized_utility(joint, kept) <= sz.normalized_utility(joint, plain) + 1e-9


def test_rows_that_are_generated_for_classes_are_refused():
    """They have a variance that the channel does not know of."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"a": rng.normal(size=1500).round(2), "b": rng.integers(0, 5, 1500), "s": rng.integers(0, 2, 1500)}
    )
    budget = sz.LiftBudget(lower=1, upper=1)
    classes = sz.LatentClassRelease(budget, sensitive="s", public=["a", "b"], n_classes=4, random_state=0)
    released = classes.fit_transform(table)
    for ask in (sz.auditing.analyze.mean, sz.auditing.analyze.table):
        with pytest.raises(
            ColumnError, match=r"lacks column 'cell'.*No valid standard errors can be computed from generated rows"
        ):
            ask(released, classes.channel_, "a")
