"""scikit-learn's own estimator checks, in two forms."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from sanitize.core.budgets import LiftBudget
from sanitize.transformers import JointRelease, RandomizedResponse, SubsetMerging, Watchdog

# Of all numbers that the checks make, so that no column has one value: these are around 0, 1 and 100, or not negative.
EDGES = [-1000, 0, 0.5, 1.5, 100, 1000]

SHIPPED = [
    Watchdog(LiftBudget.symmetric(1.0), sensitive=[0], bins=EDGES, min_count=0),
    SubsetMerging(LiftBudget.symmetric(1.0), sensitive=[0], bins=EDGES, min_count=0),
    RandomizedResponse(1.0, bins=EDGES, min_count=0),
    JointRelease([("rest", SubsetMerging(bins=EDGES, min_count=0))], LiftBudget.symmetric(1.0), sensitive=[0]),
]


class _WithoutTag:
    """The same estimator without the tag, so that reproducibility is checked too."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.non_deterministic = False
        return tags


class SeededWatchdog(_WithoutTag, Watchdog):
    pass


class SeededSubsetMerging(_WithoutTag, SubsetMerging):
    pass


class SeededRandomizedResponse(_WithoutTag, RandomizedResponse):
    pass


class SeededJointRelease(_WithoutTag, JointRelease):
    pass


SEEDED = [
    SeededWatchdog(LiftBudget.symmetric(1.0), sensitive=[0], bins=EDGES, min_count=0, random_state=0),
    SeededSubsetMerging(LiftBudget.symmetric(1.0), sensitive=[0], bins=EDGES, min_count=0, random_state=0),
    SeededRandomizedResponse(1.0, bins=EDGES, min_count=0, random_state=0),
    SeededJointRelease(
        [("rest", Watchdog(bins=EDGES, min_count=0))], LiftBudget.symmetric(1.0), sensitive=[0], random_state=0
    ),
]

# The noise of a row depends on its position, on purpose: a retried row must draw the same noise.
EXPECTED = {
    "check_methods_sample_order_invariance": "noise is a function of the row's position",
    "check_methods_subset_invariance": "noise is a function of the row's position",
}

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.slow
@parametrize_with_checks(SHIPPED)
def test_estimators_pass_scikit_learns_checks_as_shipped(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(SEEDED, expected_failed_checks=lambda estimator: EXPECTED)
def test_seeded_estimators_pass_all_checks_but_two(estimator, check):
    check(estimator)
