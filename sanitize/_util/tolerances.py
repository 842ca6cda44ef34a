"""Tolerances for rounding of doubles: one constant for each meaning, used everywhere."""

# Probabilities count as summing to 1 if their sum differs from 1 by at most this: rounding stays below it for millions
# of them, whereas a missing or misprinted probability hardly does.
PROBABILITY_SUM = 1e-9
# A leakage that exceeds its budget by at most this, in nats, counts as met; so does a probability or share at a bound.
# Sums of some thousand doubles leave less.
BUDGET = 1e-12
# Numbers of about 1 that are computed in two ways count as equal if they differ by at most this: thousands of
# roundings.
SAME = 1e-12
# Shares of information kept by two designs count as equal up to this, because a design within its gap may be this far
# from the optimum.
SAME_SHARE = 1e-6
# Replaces a divisor that is 0 because of rounding; its inverse is still a double.
SMALLEST_POSITIVE = 1e-300
# Relative precision of roots: the smallest that SciPy accepts.
ROOT = 4 * 2.0**-52
# Tolerances of linear programs: the tightest that HiGHS, SciPy's solver, accepts. A looser one would exceed a budget.
TIGHT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
# Probability that a test calls a sound release faulty, over all its comparisons together: so small that a fault is
# beyond doubt, although a pipeline verifies thousands of releases.
FALSE_ALARM = 1e-6
