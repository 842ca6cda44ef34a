"""Tolerances for rounding of doubles: one constant for each meaning, used everywhere."""

# Probabilities count as summing to 1 if their sum differs from 1 by at most this.
PROBABILITY_SUM = 1e-9
# A leakage that exceeds its budget by at most this, in nats, counts as met; so does a probability or share at a bound.
BUDGET = 1e-12
# Numbers of about 1 that are computed in two ways count as equal if they differ by at most this.
SAME = 1e-12
# Shares of information kept by two designs count as equal up to this, because a design within its gap may be this far
# from the optimum.
SAME_SHARE = 1e-6
# Replaces a divisor that is 0 because of rounding.
SMALLEST_POSITIVE = 1e-300
# Relative precision of roots: the smallest that SciPy accepts.
ROOT = 4 * 2.0**-52
# Tolerances of linear programs: the tightest that HiGHS, SciPy's solver, accepts.
TIGHT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
# Probability that a test calls a sound release faulty, over all its comparisons together.
FALSE_ALARM = 1e-6
