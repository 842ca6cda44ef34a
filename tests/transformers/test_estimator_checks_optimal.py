"""The random-response estimators: their budgets, and scikit-learn's own checks as shipped and seeded."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import sanitize as sz
from sanitize.core.budgets import LiftBudget
from sanitize.transformers import OptimalRandomResponse, SubsetRandomResponse

pytestmark = pytest.mark.filterwarnings("ignore")

# The noise of a row depends on its position, on purpose: a retried row must draw the same noise.
EXPECTED = {
    "check_methods_sample_order_invariance": "noise is a function of the row's position",
    "check_methods_subset_invariance": "noise is a function of the row's position",
}


class _WithoutTag:
    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.non_deterministic = False
        return tags


class SeededOptimal(_WithoutTag, OptimalRandomResponse):
    pass


class SeededSubset(_WithoutTag, SubsetRandomResponse):
    pass


SETTINGS = {
    "sensitive": [0],
    "bins": [-1000, 0, 0.5, 1.5, 100, 1000],
    "min_count": 0,
    "effort": 10_000_000,
}  # a fortieth of the usual effort


@pytest.mark.slow
@parametrize_with_checks(
    [kind(LiftBudget.symmetric(1.0), **SETTINGS) for kind in (OptimalRandomResponse, SubsetRandomResponse)]
)
def test_estimators_pass_scikit_learns_checks_as_shipped(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [kind(LiftBudget.symmetric(1.0), **SETTINGS, random_state=0) for kind in (SeededOptimal, SeededSubset)],
    expected_failed_checks=lambda estimator: EXPECTED,
)
def test_seeded_estimators_pass_all_checks_but_two(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", [OptimalRandomResponse, SubsetRandomResponse])
def test_estimators_release_within_their_budget(estimator):
    frame = sz.datasets.load_titanic()
    fitted = estimator(LiftBudget.symmetric(0.5), sensitive="survived", public=["class", "sex"], random_state=0).fit(
        frame
    )
    assert fitted.report_.ok
    assert len(fitted.transform(frame)) == len(frame)
