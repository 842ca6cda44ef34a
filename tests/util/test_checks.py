"""Numbers from users: what passes, what is refused, and how it is said."""

import math
from fractions import Fraction

import numpy as np
import pytest

import sanitize as sz
from sanitize._util.checks import (
    is_number,
    is_whole,
    nats,
    non_negative,
    number,
    positive,
    probabilities,
    probability,
    whole_number,
)
from sanitize.errors import InvalidBudget, InvalidDistribution, InvalidParameter

# No double holds these; Python does not even print the last one.
BEYOND = [10**400, -(10**400), Fraction(10**400, 3), 10**6000]
REAL = {
    "number": lambda value: number("it", value, -math.inf, math.inf),
    "non_negative": lambda value: non_negative("it", value),
    "positive": lambda value: positive("it", value),
    "nats": lambda value: nats("it", value),
    "probability": lambda value: probability("it", value),
}


@pytest.mark.parametrize("check", REAL.values(), ids=REAL)
@pytest.mark.parametrize("value", BEYOND, ids=["long", "negative", "fraction", "unprintable"])
def test_what_no_double_holds_is_refused_in_words(check, value):
    with pytest.raises(InvalidParameter, match=r"^it must ") as caught:
        check(value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [10**400, 10**6000, 1e308, 2**63], ids=["long", "unprintable", "float", "65 bits"])
def test_counts_end_where_an_index_does(value):
    with pytest.raises(InvalidParameter, match=r"^it must be a whole number ") as caught:
        whole_number("it", value, 1)
    assert len(str(caught.value)) < 150
    assert whole_number("it", 2**63 - 1, 1) == 2**63 - 1


@pytest.mark.parametrize("check", REAL.values(), ids=REAL)
@pytest.mark.parametrize("value", [True, np.True_, "0.5", None, math.nan, np.float64("nan"), 0.5j, [0.5], -math.inf])
def test_what_is_no_number_is_refused(check, value):
    if value == -math.inf and check is REAL["number"]:
        assert check(value) == -math.inf
        return
    with pytest.raises(InvalidParameter, match=r"^it must "):
        check(value)


@pytest.mark.parametrize("check", REAL.values(), ids=REAL)
@pytest.mark.parametrize("value", [1, 0.5, Fraction(1, 2), np.float16(0.5), np.float32(0.5), np.int8(1), np.uint64(1)])
def test_numbers_of_every_library_pass_as_floats(check, value):
    assert type(check(value)) is float
    assert check(value) == float(value)


@pytest.mark.parametrize("value", [3, np.int8(3), np.uint64(3)])
def test_whole_numbers_of_every_library_pass_as_integers(value):
    assert type(whole_number("it", value, 3)) is int
    assert is_whole(value)
    assert is_number(value)


@pytest.mark.parametrize("value", [True, np.True_, 3.0, np.float64(3), "3", None, 2, 6])
def test_what_is_no_whole_number_in_range_is_refused(value):
    with pytest.raises(InvalidParameter, match=r"^it must be a whole number from 3 to 5, got "):
        whole_number("it", value, 3, 5)


def test_infinity_is_a_level_and_no_probability():
    assert non_negative("it", math.inf) == positive("it", math.inf) == nats("it", math.inf) == math.inf
    with pytest.raises(InvalidParameter, match=r"^it must lie in \[0, 1\], got inf"):
        probability("it", math.inf)


JOINT = [[0.3, 0.2], [0.1, 0.4]]


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: sz.LiftBudget(lower=10**400, upper=1), InvalidBudget),
        (lambda: sz.LDPBudget(10**400), InvalidBudget),
        (lambda: sz.watchdog(sz.JointDistribution.from_matrix(JOINT), 10**400), InvalidBudget),
        (lambda: sz.JointDistribution.from_matrix([[10**400, 1]]), InvalidDistribution),
        (lambda: sz.Channel.identity(10**400), sz.errors.InvalidChannel),
        (lambda: sz.Channel.from_matrix([[10**400]]), sz.errors.InvalidChannel),
        (lambda: probabilities([10**400]), InvalidDistribution),
        (lambda: sz.alpha_lift(sz.JointDistribution.from_matrix(JOINT), 10**400), InvalidParameter),
        (lambda: sz.core.capacity.dp_information_bound(10**400), InvalidParameter),
        (lambda: sz.channel_capacity([[1.0]], 10**400), InvalidParameter),
        (lambda: sz.core.capacity.amplitude_capacity(10**400), InvalidParameter),
        (lambda: sz.suggest_budget(sz.JointDistribution.from_matrix(JOINT), max_leakage=10**400), InvalidParameter),
    ],
)
def test_the_doors_refuse_what_no_double_holds(make, error):
    with pytest.raises(error):
        make()


def test_a_budget_of_a_fraction_is_one_of_doubles():
    assert sz.LDPBudget(Fraction(1, 2)) == sz.LDPBudget(0.5)
    assert repr(sz.LDPBudget(np.float32(0.5))) == "LDPBudget(eps=0.5)"
    assert repr(sz.LDPBudget(np.int64(2))) == "LDPBudget(eps=2)"
