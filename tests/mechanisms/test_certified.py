"""Certified mixtures and blocks of cells: partitions by enumeration, and simulations of a known source."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import sparse, stats

import sanitize as sz
from sanitize.core.profiles import Profiles
from sanitize.errors import InvalidBudget, InvalidParameter
from sanitize.mechanisms import certified_merging, certified_random_response
from sanitize.mechanisms._certified.candidates import Agglomeration, agglomerate, best_mixture, candidates
from sanitize.mechanisms._certified.foresight import PowerModel, expected_evidence

BUDGET = sz.LiftBudget(lower=0.8, upper=0.5)
GIVEN = np.array([0.10, 0.14, 0.2, 0.24, 0.28, 0.32, 0.4, 0.55])
DISTRIBUTION = np.stack([GIVEN, 1 - GIVEN]) / 8
PROFILES = Profiles(np.eye(8) * 100, np.array([0]), np.array([1.0]))


def made_of(parts: list[tuple[int, int]], n_cells: int) -> Agglomeration:
    blocks = list(np.eye(n_cells, dtype=bool))
    for one, other in parts:
        blocks.append(blocks[one] | blocks[other])
    return Agglomeration(np.array(blocks), np.array(parts, np.intp).reshape(-1, 2))


def partitions(made: Agglomeration, block: int) -> list[list[int]]:
    """Every partition of a block into blocks."""
    n_cells = made.blocks.shape[1]
    found = [[block]]
    if block >= n_cells:
        one, other = made.parts[block - n_cells]
        found += [a + b for a in partitions(made, one) for b in partitions(made, other)]
    return found


@pytest.mark.parametrize("parts", [[(0, 3), (1, 2), (4, 5)], [(0, 1), (2, 3)], [(3, 1), (4, 0)], []])
def test_the_finest_partition_is_that_of_enumeration(parts) -> None:
    made = made_of(parts, 4)
    tops = [block for block in range(len(made.blocks)) if block not in set(np.ravel(parts))]
    for passed in itertools.product([False, True], repeat=len(made.blocks)):
        every = itertools.product(*(partitions(made, top) for top in tops))
        whole = [list(itertools.chain(*rows)) for rows in every]
        allowed = [blocks for blocks in whole if all(passed[block] for block in blocks)]
        labels = made.finest(np.array(passed))
        if not allowed:
            assert (labels == 0).all()
            continue
        best = max(allowed, key=len)
        expected = sorted((np.flatnonzero(made.blocks[block]).tolist() for block in best), key=lambda cells: cells[0])
        assert [np.flatnonzero(labels == k).tolist() for k in range(labels.max() + 1)] == expected


def test_blocks_are_put_together_until_all_show_enough() -> None:
    design = np.random.default_rng(0).multinomial(6000, DISTRIBUTION.ravel()).reshape(2, 8)
    foresight = PowerModel.from_counts(design, 4.0 * design.sum(), BUDGET, 0.95)
    made = agglomerate(PROFILES, foresight)
    shown = expected_evidence(foresight, (design @ made.blocks.T).astype(float), made.blocks.sum(axis=1))
    tops = np.setdiff1d(np.arange(len(made.blocks)), made.parts)
    assert (made.blocks[tops].sum(axis=0) == 1).all()
    assert (shown[tops] >= 12 * foresight.needed).all() or len(tops) == 1
    assert 8 < len(made.blocks) < 16
    # The first one to be put to another is that which shows least.
    assert made.parts[0, 0] == np.argmin(shown[:8])


@pytest.mark.slow
@pytest.mark.parametrize("rows", [2_000, 20_000])
def test_certified_blocks_hold_under_the_distribution_of_the_rows(rows) -> None:
    """Of 200 tables at most 5 % may fail; more than the bound would happen once in 10^9 at that rate."""
    rng, failed, outputs = np.random.default_rng(5), 0, []
    for _ in range(200):
        design, fresh = (rng.multinomial(n, DISTRIBUTION.ravel()).reshape(2, 8) for n in (rows // 5, rows - rows // 5))
        joint = sz.JointDistribution.from_matrix((design + fresh) / rows)
        channel = certified_merging(joint, design, fresh, PROFILES, BUDGET, 0.95)
        assert (BUDGET.excess(joint.push(channel)) <= 0).all()
        pushed = DISTRIBUTION @ channel.matrix
        p_s = DISTRIBUTION.sum(axis=1)
        failed += bool((BUDGET.lift_excess(pushed / p_s[:, None] / pushed.sum(axis=0), p_s) > 0).any())
        outputs.append(channel.n_outputs)
    assert failed <= stats.binom.isf(1e-9, 200, 0.05)
    assert np.mean(outputs) > (2 if rows == 2_000 else 5)


def test_blocks_of_other_counts_and_of_too_many_cells_are_refused() -> None:
    design = np.ones((2, 8), int)
    joint = sz.JointDistribution.from_matrix(DISTRIBUTION)
    with pytest.raises(InvalidParameter, match=r"must have the shape \(2, 8\)"):
        certified_merging(joint, design[:, :7], design, PROFILES, BUDGET, 0.95)
    many = sz.JointDistribution.from_matrix(np.full((2, 513), 1 / 1026))
    with pytest.raises(InvalidParameter, match="at most 512 public symbols or classes, got 513; lower"):
        certified_merging(many, np.ones((2, 513), int), np.ones((2, 513), int), PROFILES, BUDGET, 0.95)


def test_coarser_profiles_keep_the_rows_and_lose_no_less_than_is_lost() -> None:
    rng = np.random.default_rng(6)
    counts = rng.integers(0, 30, (5, 40)).astype(float)
    counts[:, 25:] *= (counts[:, :25].sum(axis=1) / counts[:, 25:].sum(axis=1))[:, None]
    whole = Profiles(counts, np.array([0, 25]), np.array([0.5, 2.0]))
    for most in (1, 4, 100):
        coarse = whole.coarser(most)
        sizes = np.diff([*coarse.starts, coarse.counts.shape[1]])
        assert sizes.tolist() == [min(most, 25), min(most, 15)]
        np.testing.assert_allclose(coarse.rows, whole.rows)
        mixtures = rng.random((7, 5))
        # What merging of cells loses of a coarser column is no more (data processing), but for what is left inside.
        own = coarse.information_loss(mixtures) - mixtures @ coarse.information_loss(np.eye(5))
        assert (own <= whole.information_loss(mixtures) - mixtures @ whole.information_loss(np.eye(5)) + 1e-9).all()
    np.testing.assert_allclose(whole.coarser(100).information_loss(mixtures), whole.information_loss(mixtures))


def test_information_about_a_random_column_is_the_mean_over_columns() -> None:
    """I(T;Y) of the level T of a random column is proportional to the sum of I(X_j;Y) / H(X_j), column by column."""
    rng = np.random.default_rng(8)
    parts = [rng.multinomial(200, rng.dirichlet(np.ones(size)), 6).astype(float) for size in (2, 5, 9)]
    parts[1][:, 3] = 0  # no row has this level
    parts[1][:, 0] += 200 - parts[1].sum(axis=1)
    shares = [part.sum(axis=0) / part.sum() for part in parts]
    entropies = np.array([-(p[p > 0] * np.log(p[p > 0])).sum() for p in shares])
    profiles = Profiles(np.hstack(parts), np.array([0, 2, 7]), 1 / entropies)
    chances, p_x, ratios = profiles.column_values(3000), np.full(6, 1 / 6), []
    np.testing.assert_allclose(chances.sum(axis=0), 1)
    for _ in range(5):
        channel = sz.Channel.from_matrix(rng.dirichlet(np.ones(4), 6))
        informations = [
            sz.mutual_information(sz.JointDistribution.from_matrix(given[given.any(axis=1)] * p_x).push(channel))
            for given in (chances, *(part.T / 200 for part in parts))
        ]
        ratios.append(informations[0] / (np.array(informations[1:]) / entropies).sum())
    np.testing.assert_allclose(ratios, ratios[0], rtol=1e-6)
    assert len(profiles.column_values(4)) == 4  # two columns of two levels


# Cells below each node of a dendrogram of the eight cells.
MEMBERS = np.array([*np.eye(8, dtype=bool), *(np.arange(8) // 2 == pair for pair in range(4)), np.ones(8, bool)])


@pytest.mark.slow
def test_certified_responses_hold_under_the_distribution_of_the_rows() -> None:
    """At most 5 % may fail; more than 19 of 200 would happen once in 200 runs at that rate."""
    rng, failed, released, p_s = np.random.default_rng(7), 0, [], DISTRIBUTION.sum(axis=1)
    budget = sz.LiftBudget(lower=0.5, upper=0.35)
    for _ in range(200):
        design, fresh = (rng.multinomial(n, DISTRIBUTION.ravel()).reshape(2, 8) for n in (500, 1500))
        joint = sz.JointDistribution.from_matrix((design + fresh) / 2000)
        channel = certified_random_response(joint, design, fresh, MEMBERS, PROFILES, budget, 0.95)
        assert (budget.excess(joint.push(channel)) <= 0).all()
        pushed = DISTRIBUTION @ channel.matrix
        failed += bool((budget.lift_excess(pushed / p_s[:, None] / pushed.sum(axis=0), p_s) > 0).any())
        released.append(channel.n_outputs)
    assert failed <= stats.binom.ppf(0.995, 200, 0.05)
    assert np.mean(released) > 2  # the guarantee is not that of releasing nothing


def test_candidates_do_not_look_at_fresh_rows_and_reach_every_cell() -> None:
    design = np.random.default_rng(4).multinomial(2000, DISTRIBUTION.ravel()).reshape(2, 8)
    foresight = PowerModel.from_counts(design, 6000.0, sz.LiftBudget(lower=0.5, upper=0.4), 0.95)
    found = candidates(MEMBERS, PROFILES, foresight).toarray()
    assert found.max(axis=1).min() == found.max() == 1.0
    assert (found.sum(axis=0) > 0).all()
    assert (found[(found > 0) & (found < 1)] > 0).any()  # some symbols are dilutions


def test_the_best_mixture_keeps_each_cell_when_all_may_be_told() -> None:
    profiles = Profiles(np.array([[5.0, 0.0, 3.0], [0.0, 4.0, 2.0], [1.0, 1.0, 1.0]]), np.array([0]), np.ones(1))
    net = sparse.csr_array(np.vstack([np.ones((1, 3)), np.eye(3), [[1.0, 1.0, 0.0]]]))
    np.testing.assert_allclose(best_mixture(net, profiles.information_loss(net)), [0, 1, 1, 1, 0], atol=1e-9)


def test_profiles_measure_what_is_lost_by_definition() -> None:
    rng = np.random.default_rng(6)
    counts = rng.integers(0, 9, (4, 5)).astype(float)
    counts[:, 3:] *= (counts[:, :3].sum(axis=1) / counts[:, 3:].sum(axis=1))[:, None]
    profiles = Profiles(counts, np.array([0, 3]), np.array([0.5, 2.0]))
    w = rng.random(4)
    expected = 0.0
    for weight, part in zip((0.5, 2.0), (counts[:, :3], counts[:, 3:]), strict=True):
        mass = w @ part
        expected += weight * mass.sum() * stats.entropy(mass)
    assert profiles.information_loss(w[None, :])[0] == pytest.approx(expected)


def test_a_budget_of_another_kind_has_no_certificate() -> None:
    design = np.random.default_rng(4).multinomial(400, DISTRIBUTION.ravel()).reshape(2, 8)
    joint = sz.JointDistribution.from_matrix(5 * design / 2000)
    settings = joint, design, 4 * design, MEMBERS, PROFILES
    with pytest.raises(InvalidBudget, match="Chi2LiftBudget"):
        certified_random_response(*settings, sz.Chi2LiftBudget(lower=1, upper=1), 0.95)  # type: ignore[arg-type]
    channel = certified_random_response(*settings, sz.LDPBudget(1.0), 0.95)  # type: ignore[arg-type]
    assert (sz.LDPBudget(1.0).excess(joint.push(channel)) <= 0).all()
