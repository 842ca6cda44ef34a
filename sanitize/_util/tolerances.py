"""Tolerances for rounding of doubles: one constant for each meaning, used everywhere."""

# Probabilities sum to 1 when they do up to this.
PROBABILITY_SUM = 1e-9
# A leakage so little above its budget is within it, in nats; so is a probability beside a bound, or a share.
BUDGET = 1e-12
# Numbers of the size of 1, found in two ways, are the same when they differ by no more.
SAME = 1e-12
# Shares that designs keep are the same up to this, since what is near enough to the best may be so far from it.
SAME_SHARE = 1e-6
# In place of a divisor that rounding makes 0.
SMALLEST_POSITIVE = 1e-300
# Relative precision of a root: SciPy's smallest.
ROOT = 4 * 2.0**-52
# Of the linear programs that SciPy's solver, HiGHS, solves: its tightest.
TIGHT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
# The chance that a test calls a sound release faulty, all its looks together.
FALSE_ALARM = 1e-6
