"""Reports that several test files print."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import numpy as np

import sanitize as sz
from sanitize.report import LeakageReport
from sanitize.report._facts import ReleaseFacts

SENSITIVE_CANARY, PUBLIC_CANARY, COUNT_CANARY = "sSecretCanary", "xSecretCanary", 7654321
AUDIENCES = ("internal", "public")
PMF = np.array([[0.20, 0.05, 0.15, 0.10], [0.05, 0.20, 0.15, 0.10]])
BUDGETS = {
    "lift": sz.LiftBudget(lower=1.5, upper=0.5),
    "times": sz.LiftBudget(at_most=1.65, at_least=0.25),
    "ldp": sz.LDPBudget(1.0),
    "l1": sz.L1LiftBudget(lower=1.0, upper=0.5),
    "chi2": sz.Chi2LiftBudget(lower=1.0, upper=0.5),
    "alpha": sz.AlphaLiftBudget(2, lower=1.0, upper=0.5),
}
HOSTILE = {
    "script": "<script>alert(1)</script>",
    "attribute": "\"'><img src=x onerror=alert(1)>",
    "template": "{{ 7 * 7 }}{% raw %}",
    "override": "\u202egnp.exe\u2066",
    "escape": "\x1b[31mred\x1b[0m\x07",
    "lines": "one\ntwo\r\nthree\u2028four\x85five\x0bsix",
    "emoji": "👩‍👩‍👧‍👦" * 40,
    "wide": "漢字" * 60,
    "marks": "z" + "\u0301" * 5000,
    "long": "n" * 10_000,
    "spaces": "a " * 5_000,
    "null": "a\x00b",
}


def measured(pmf: Any = PMF, labels: Any = None, budget: Any = None, **facts: Any) -> LeakageReport:
    """Report of the channel that merges public symbols by labels (none are merged by default)."""
    joint = sz.JointDistribution.from_matrix(pmf)
    labels = range(len(joint.public)) if labels is None else labels
    return LeakageReport.measure(joint, sz.Channel.merge(list(labels)), budget, facts=ReleaseFacts(**facts))


def hostile(name: str, n_x: int = 4, budget: Any = BUDGETS["lift"]) -> LeakageReport:
    """Report in which every name is the hostile one."""
    pmf = np.full((2, n_x), 0.5 / n_x)
    joint = sz.JointDistribution(
        pmf,
        sz.core.alphabet.Alphabet((name + "s",), [SENSITIVE_CANARY, "b"]),
        sz.core.alphabet.Alphabet((name,), [f"{i:05d}{name}" for i in range(n_x)]),
        n_x,
    )
    facts = ReleaseFacts(mechanism=name, output=name, seeded=True, n_unseen=3, warnings=(name,) * 20, kept=(name,))
    return LeakageReport.measure(joint, sz.Channel.identity(n_x, joint.public), budget, facts=facts)


def secretive() -> LeakageReport:
    """Report whose symbols, counts and warnings are canaries."""
    n = COUNT_CANARY
    joint = sz.JointDistribution(
        np.array([[0.4, 0.1], [0.0, 0.5]]),
        sz.core.alphabet.Alphabet(("illness",), [SENSITIVE_CANARY, "none"]),
        sz.core.alphabet.Alphabet(("town",), [PUBLIC_CANARY, "elsewhere"]),
        n,
    )
    facts = ReleaseFacts(
        mechanism="watchdog",
        n_unseen=n,
        warnings=(f"{n} of 40 cells are empty", f"{PUBLIC_CANARY} is rare"),
        kept=("age",),
    )
    return LeakageReport.measure(joint, sz.Channel.identity(2, joint.public), sz.LiftBudget.symmetric(9), facts=facts)


class Page(HTMLParser):
    """Tags, attributes and text of a page; complains about tags that do not close in order."""

    VOID = ("meta", "br")

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.rows: list[list[str]] = []
        self.words: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)
        if "td" in self.open or "th" in self.open:
            self.rows[-1][-1] += data
