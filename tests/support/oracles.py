"""Slow twins of the library: fractions, decimals and loops, written as close to the formulas as possible.

Nothing here imports the library or NumPy. A distribution is a list of rows of Fractions: ``joint[s][y]``. An oracle
should be easy to check, not clever.
"""

from __future__ import annotations

import itertools
import math
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, InvalidOperation, Overflow, Underflow, localcontext
from fractions import Fraction

INFINITY = math.inf
# Decimals lose nothing that a double could show: 60 digits, and an error instead of a silent zero.
PRECISE = Context(prec=60, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[Underflow, Overflow, InvalidOperation])

Distribution = list[list[Fraction]]


def exact(matrix) -> Distribution:
    """The doubles of a matrix as the rationals they are, scaled to sum to exactly 1."""
    rows = [[Fraction(float(p)) for p in row] for row in matrix]
    total = sum(sum(row) for row in rows)
    return [[p / total for p in row] for row in rows]


def decimal_of(value: Fraction) -> Decimal:
    with localcontext(PRECISE):
        return Decimal(value.numerator) / Decimal(value.denominator)


def log(value: Fraction) -> float:
    """Natural logarithm of a rational; -inf at 0."""
    if value == 0:
        return -INFINITY
    with localcontext(PRECISE):
        return float(decimal_of(value).ln())


def margins(joint: Distribution) -> tuple[list[Fraction], list[Fraction]]:
    """P(s) and P(y)."""
    return [sum(row) for row in joint], [sum(row[y] for row in joint) for y in range(len(joint[0]))]


def lift(joint: Distribution) -> Distribution:
    """l(s, y) = P(s, y) / (P(s) P(y))."""
    p_s, p_y = margins(joint)
    return [[joint[s][y] / (p_s[s] * p_y[y]) for y in range(len(p_y))] for s in range(len(p_s))]


def solution(rows: list[list[Fraction]], right: list[Fraction]) -> list[Fraction] | None:
    """Solution of square linear equations, by elimination in whole numbers; None where there is not one."""
    table = []
    for row in ([*row, value] for row, value in zip(rows, right, strict=True)):
        scale = math.lcm(*(Fraction(entry).denominator for entry in row))
        table.append([int(entry * scale) for entry in row])
    last = 1
    for k in range(len(table)):
        pivot = next((i for i in range(k, len(table)) if table[i][k]), None)
        if pivot is None:
            return None
        table[k], table[pivot] = table[pivot], table[k]
        top, whole = table[k], table[k][k]
        for i, row in enumerate(table):
            if i != k:  # what is divided by is a factor of all minors
                table[i] = [(whole * a - row[k] * b) // last for a, b in zip(row, top, strict=True)]
        last = whole
    return [Fraction(row[-1], last) for row in table]


def column(matrix: Distribution, y: int) -> list[Fraction]:
    return [row[y] for row in matrix]


# --- one released symbol: everything is a function of its lifts and of the prior


def power(base: Decimal, exponent: Decimal) -> Decimal:
    return Decimal(0) if base == 0 else (base.ln() * exponent).exp()


def l1_deviation(lifts: list[Fraction], p_s: list[Fraction]) -> Fraction:
    return sum(p * abs(ratio - 1) for p, ratio in zip(p_s, lifts, strict=True))


def chi2_deviation(lifts: list[Fraction], p_s: list[Fraction]) -> Fraction:
    return sum(p * (ratio - 1) ** 2 for p, ratio in zip(p_s, lifts, strict=True))


def alpha_norm(lifts: list[Fraction], p_s: list[Fraction], alpha: float) -> float:
    """(Σ P(s) l^α)^{1/α}; the largest lift at α = inf."""
    if math.isinf(alpha):
        return float(max(lifts))
    with localcontext(PRECISE):
        a = Decimal(alpha)
        total = sum(decimal_of(p) * power(decimal_of(ratio), a) for p, ratio in zip(p_s, lifts, strict=True))
        return float(power(total, 1 / a))


def basis_inverses(measure, lifts: list[Fraction], p_s: list[Fraction], *order) -> float:
    """A measure with 1/l in place of l; infinite beside an empty cell."""
    if 0 in lifts:
        return INFINITY
    return float(measure([1 / ratio for ratio in lifts], p_s, *order))


def per_symbol(measure, joint: Distribution, *order) -> list[float]:
    """A measure of each released symbol."""
    p_s, lifts = margins(joint)[0], lift(joint)
    return [float(measure(column(lifts, y), p_s, *order)) for y in range(len(joint[0]))]


def per_symbol_inverse(measure, joint: Distribution, *order) -> list[float]:
    p_s, lifts = margins(joint)[0], lift(joint)
    return [basis_inverses(measure, column(lifts, y), p_s, *order) for y in range(len(joint[0]))]


def max_lift(joint: Distribution) -> list[Fraction]:
    return [max(lifts) for lifts in zip(*lift(joint), strict=True)]


def min_lift(joint: Distribution) -> list[Fraction]:
    return [min(lifts) for lifts in zip(*lift(joint), strict=True)]


# --- averages


def mutual_information(joint: Distribution) -> float:
    """Σ P(s, y) log P(s, y) / (P(s) P(y))."""
    ratios = lift(joint)
    with localcontext(PRECISE):
        total = sum(
            decimal_of(p) * decimal_of(ratio).ln()
            for row, lifts in zip(joint, ratios, strict=True)
            for p, ratio in zip(row, lifts, strict=True)
            if p > 0
        )
        return float(total)


def total_variation(joint: Distribution) -> Fraction:
    """½ Σ |P(s, y) - P(s) P(y)|."""
    p_s, p_y = margins(joint)
    return sum(abs(joint[s][y] - p_s[s] * p_y[y]) for s in range(len(p_s)) for y in range(len(p_y))) / 2


def chi2_divergence(joint: Distribution) -> Fraction:
    """Σ (P(s, y) - P(s) P(y))² / (P(s) P(y))."""
    p_s, p_y = margins(joint)
    return sum(
        (joint[s][y] - p_s[s] * p_y[y]) ** 2 / (p_s[s] * p_y[y]) for s in range(len(p_s)) for y in range(len(p_y))
    )


def sibson_information(joint: Distribution, alpha: float) -> float:
    """α/(α-1) log Σ_y (Σ_s P(s) P(y|s)^α)^{1/α}."""
    if alpha == 1:
        return mutual_information(joint)
    p_s, p_y = margins(joint)
    if math.isinf(alpha):
        return log(sum(max(joint[s][y] / p_s[s] for s in range(len(p_s))) for y in range(len(p_y))))
    with localcontext(PRECISE):
        a = Decimal(alpha)
        total = sum(
            power(
                sum(decimal_of(p_s[s]) * power(decimal_of(joint[s][y] / p_s[s]), a) for s in range(len(p_s))),
                1 / a,
            )
            for y in range(len(p_y))
        )
        return float(a / (a - 1) * total.ln())


def arimoto_information(joint: Distribution, alpha: float) -> float:
    """H_α(S) - H_α(S|Y) with Rényi's entropy and Arimoto's conditional entropy."""
    if alpha == 1:
        return mutual_information(joint)
    p_s, p_y = margins(joint)
    if math.isinf(alpha):
        guess = sum(max(column(joint, y)) for y in range(len(p_y)))
        return log(guess / max(p_s))
    with localcontext(PRECISE):
        a = Decimal(alpha)
        entropy = sum(power(decimal_of(p), a) for p in p_s).ln() / (1 - a)
        norms = sum(power(sum(power(decimal_of(p), a) for p in column(joint, y)), 1 / a) for y in range(len(p_y)))
        conditional = a / (1 - a) * norms.ln()
        return float(entropy - conditional)


def maximal_leakage(joint: Distribution) -> float:
    """log Σ_y max_s P(y|s)."""
    return sibson_information(joint, INFINITY)


def max_information(joint: Distribution) -> float:
    return log(max(max_lift(joint)))


def ldp_of_joint(joint: Distribution) -> float:
    """Largest log P(y|s) / P(y|s')."""
    p_s, _ = margins(joint)
    return ldp_of_channel([[p / p_s[s] for p in row] for s, row in enumerate(joint)])


def ldp_of_channel(matrix: Distribution) -> float:
    """Largest log P(y|x) / P(y|x'), a quotient of rationals; infinite where one is 0 and the other not."""
    worst = Fraction(1)
    for y in range(len(matrix[0])):
        values = column(matrix, y)
        if max(values) == 0:
            continue
        if min(values) == 0:
            return INFINITY
        worst = max(worst, max(values) / min(values))
    return log(worst)


def entropy(p: list[Fraction]) -> float:
    with localcontext(PRECISE):
        return float(-sum(decimal_of(q) * decimal_of(q).ln() for q in p if q > 0))


def utility(p_x: list[Fraction], matrix: Distribution) -> float:
    """I(X;Y) from the dense matrix P(y|x)."""
    rows = [[p * q for q in row] for p, row in zip(p_x, matrix, strict=True)]
    reachable = [y for y in range(len(matrix[0])) if any(row[y] for row in rows)]
    return mutual_information([[row[y] for y in reachable] for row, p in zip(rows, p_x, strict=True) if p > 0])


def push(joint: Distribution, matrix: Distribution) -> Distribution:
    """P(s, y) = Σ_x P(s, x) P(y|x)."""
    return [[sum(row[x] * matrix[x][y] for x in range(len(matrix))) for y in range(len(matrix[0]))] for row in joint]


def product(*stages: Distribution) -> Distribution:
    matrix = stages[0]
    for stage in stages[1:]:
        matrix = push(matrix, stage)
    return matrix


# --- channels made of integers


def stage_matrix(stage) -> Distribution:
    """P(output|input) of one stage, as the rationals of its integers."""
    rows = [[Fraction(0)] * stage.n_outputs for _ in range(stage.n_inputs)]
    for i in range(stage.n_inputs):
        for entry in range(int(stage.indptr[i]), int(stage.indptr[i + 1])):
            rows[i][int(stage.indices[entry])] += Fraction(int(stage.weights[entry]), 2**62)
    return rows


def channel_matrix(channel) -> Distribution:
    """P(y|x) of a chain of stages."""
    return product(*[stage_matrix(stage) for stage in channel.stages])


# --- budgets


def over_budget(kind: str, lifts: list[Fraction], p_s: list[Fraction], **bounds: float) -> float:
    """How far one symbol exceeds a budget; at most 0 where it is met. Bounds in nats, as printed in §VI-B."""
    lower, upper = bounds.get("lower", INFINITY), bounds.get("upper", INFINITY)
    if kind == "ldp":
        return minus(log_ratio(max(lifts), min(lifts)), bounds["eps"])
    if kind == "lift":
        return max(minus(log(max(lifts)), upper), minus(-log(min(lifts)), lower))
    if kind == "l1":
        return max(
            minus(float(l1_deviation(lifts, p_s)), expm1(upper)),
            minus(basis_inverses(l1_deviation, lifts, p_s), expm1(lower)),
        )
    if kind == "chi2":
        return max(
            minus(float(chi2_deviation(lifts, p_s)), expm1(upper) ** 2),
            minus(basis_inverses(chi2_deviation, lifts, p_s), expm1(lower) ** 2),
        )
    assert kind == "alpha"
    alpha = bounds["alpha"]
    return max(
        minus(alpha_norm(lifts, p_s, alpha), expm1(upper) + 1),
        minus(basis_inverses(alpha_norm, lifts, p_s, alpha), expm1(lower) + 1),
    )


def risk(kind: str, lifts: list[Fraction], p_s: list[Fraction], **bounds: float) -> float:
    """ω: log Λ - log Ψ, or the sum of the two averages; a side without a bound does not count [R1]."""
    lower, upper = bounds.get("lower", INFINITY), bounds.get("upper", INFINITY)
    if kind == "ldp":
        return log_ratio(max(lifts), min(lifts))
    if kind == "lift":
        if math.isinf(lower):
            return log(max(lifts))
        return -log(min(lifts)) if math.isinf(upper) else log_ratio(max(lifts), min(lifts))
    measure = {"l1": l1_deviation, "chi2": chi2_deviation, "alpha": alpha_norm}[kind]
    order = (bounds["alpha"],) if kind == "alpha" else ()
    total = 0.0
    if not math.isinf(upper):
        total += float(measure(lifts, p_s, *order))
    if not math.isinf(lower):
        total += basis_inverses(measure, lifts, p_s, *order)
    return total


def log_ratio(a: Fraction, b: Fraction) -> float:
    return INFINITY if b == 0 else log(a / b)


def expm1(value: float) -> float:
    try:
        return math.expm1(value)
    except OverflowError:
        return INFINITY


def minus(value: float, bound: float) -> float:
    return -INFINITY if math.isinf(bound) else value - bound


# --- complete merging and Algorithm 1, over sets

SAFE_WITHIN = 1e-12  # R5


class Merging:
    """Complete merging, and Algorithm 1 with the resolutions R1 to R5, for one distribution and one budget.

    Attributes
    ----------
    too_close : bool
        Whether some choice hung on differences that doubles cannot tell from rounding: sets of different distributions
        whose risks agree to 9 digits, or an excess within rounding of the tolerance. Equal distributions do tie.
    """

    def __init__(self, joint: Distribution, kind: str, bounds: dict[str, float]) -> None:
        self.joint, self.kind, self.bounds = joint, kind, bounds
        self.p_s, p_x = margins(joint)
        self.X = set(range(len(p_x)))
        self.too_close = False
        self.X_H = {x for x in self.X if not self.safe({x})}

    def distribution(self, A: set[int]) -> list[Fraction]:
        """P(s, A)."""
        return [sum(row[x] for x in A) for row in self.joint]

    def lifts(self, A: set[int]) -> list[Fraction]:
        """P(A|s) / P(A)."""
        p_A = self.distribution(A)
        return [p / q / sum(p_A) for p, q in zip(p_A, self.p_s, strict=True)]

    def safe(self, A: set[int]) -> bool:
        over = over_budget(self.kind, self.lifts(A), self.p_s, **self.bounds)
        self.too_close |= 1e-13 < over < 1e-11
        return over <= SAFE_WITHIN

    def omega(self, A: set[int]) -> float:
        """Risk, rounded so that mathematical ties are ties."""
        value = risk(self.kind, self.lifts(A), self.p_s, **self.bounds)
        return value if math.isinf(value) else float(f"{value:.10e}")

    def choose(self, pick, candidates: list[int], union) -> int:
        """The candidate of least or largest risk; ties go to the lowest index."""
        risks = [self.omega(union(c)) for c in candidates]
        best = risks.index(pick(risks))
        for i, value in enumerate(risks):
            near = value == risks[best] or abs(value - risks[best]) <= 1e-9 * (1 + abs(value))
            if (
                near
                and not math.isinf(value)
                and self.distribution(union(candidates[i])) != self.distribution(union(candidates[best]))
            ):
                self.too_close = True
        return candidates[best]

    def join_low_risk(self, A: set[int]) -> set[int]:
        """R4: low-risk symbols join one at a time, the one that minimises ω of the union first."""
        left = self.X - self.X_H
        while not self.safe(A):
            best = self.choose(min, sorted(left), lambda x: A | {x})  # noqa: B023
            A, left = A | {best}, left - {best}
        return A

    def cost(self, A: set[int]) -> float:
        """Nats of H(X) that merging a set loses."""
        masses = [float(sum(self.distribution({x}))) for x in A]
        return sum(masses) * math.log(sum(masses) or 1) - sum(mass * math.log(mass) for mass in masses)

    def least_cost(self) -> float:
        """Of all safe sets with every high-risk symbol, by a look at each."""
        if not self.X_H:
            return 0.0
        low = sorted(self.X - self.X_H)
        joined = (set(join) for n in range(len(low)) for join in itertools.combinations(low, n))
        safe = [self.X_H | join for join in joined if self.safe(self.X_H | join)]
        return min(map(self.cost, [*safe, self.X]))

    def algorithm_1(self) -> set[frozenset[int]]:
        """The partition of subset merging."""
        left, subsets = set(self.X_H), []
        while left:  # R2
            riskiest = self.choose(max, sorted(left), lambda x: {x})
            A, left = {riskiest}, left - {riskiest}
            while left and not self.safe(A):
                best = self.choose(min, sorted(left), lambda x: A | {x})  # noqa: B023
                A, left = A | {best}, left - {best}
            subsets.append(A)
        if subsets:
            *earlier, last = subsets
            while earlier and not self.safe(last):  # R3
                best = self.choose(min, list(range(len(earlier))), lambda i: last | earlier[i])  # noqa: B023
                last = last | earlier.pop(best)
            subsets = [*earlier, self.join_low_risk(last)]
        return self.partition(subsets)

    def partition(self, subsets: list[set[int]]) -> set[frozenset[int]]:
        alone = self.X - set().union(*subsets)
        return {frozenset(A) for A in subsets} | {frozenset({x}) for x in alone}
