"""Errors cross process borders whole, and name what they speak of."""

import pickle

import pytest

import sanitize as sz
from sanitize.errors import BudgetExceeded, ColumnError, RowOrderLeak, UnknownSymbol


def over_budget() -> BudgetExceeded:
    joint = sz.JointDistribution.from_matrix([[0.4, 0.1], [0.1, 0.4]])
    report = sz.LeakageReport.measure(joint, sz.Channel.identity(2), sz.LiftBudget.symmetric(0.1))
    with pytest.raises(BudgetExceeded) as caught:
        report.require()
    return caught.value


@pytest.mark.parametrize(
    "error",
    [ColumnError("no such column", "town"), UnknownSymbol(("town", "age"), 3), RowOrderLeak(0.25), over_budget()],
    ids=lambda error: type(error).__name__,
)
def test_errors_survive_pickling_with_what_they_carry(error):
    back = pickle.loads(pickle.dumps(error))
    assert type(back) is type(error)
    assert str(back) == str(error)
    carried = {name for name in vars(error) if name != "report"}
    assert {name: getattr(back, name) for name in carried} == {name: getattr(error, name) for name in carried}
