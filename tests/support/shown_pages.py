"""Pages of reports as people get them, to be looked at: columns, a study, a whole table, one of no use, one refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import sanitize as sz

if TYPE_CHECKING:
    import pandas as pd

DATE = "2026-01-31"


def shown_reports(adult: pd.DataFrame | None = None) -> dict[str, Any]:
    """Five reports by name; the first and the third of Adult where it is at hand, of a table like it otherwise."""
    table = census() if adult is None else adult
    study = sz.datasets.load_framingham()
    secret, budget = ["heart_disease"], sz.LiftBudget(at_most=2, at_least=0.37)
    reports = {
        "columns": _classifier(sz.SubsetMerging(budget, confidence=0.95), table, ["income"], ["education", "race"]),
        "study": _classifier(sz.OptimalRandomResponse(budget), study, secret, ["cholesterol", "blood_pressure"]),
        "classes": _classifier(
            sz.LatentClassRelease(budget),
            table.drop(columns="split", errors="ignore").head(10_000),
            ["income"],
            [name for name in table.columns if name not in ("income", "split")],
        ),
        "useless": _classifier(
            sz.Watchdog(sz.LiftBudget.symmetric(0.01)), study, secret, ["cholesterol", "blood_pressure"]
        ),
        "refused": _risk_excess(study),
    }
    return {
        name: report.with_origin(
            title=f"Release of the {name} table", date=DATE, table=f"{name}.parquet", policy="policy.toml"
        )
        for name, report in reports.items()
    }


def census(n_rows: int = 5_000) -> pd.DataFrame:
    """A table like the Adult census: mixed columns, some with many values, and a secret that follows from them."""
    import pandas as pd

    rng = np.random.default_rng(17)
    age = rng.integers(17, 91, n_rows)
    education = rng.integers(1, 17, n_rows)
    hours = np.clip(rng.normal(40, 12, n_rows).round(), 1, 99).astype(int)
    score = 0.05 * (age - 40) + 0.5 * (education - 10) + 0.04 * (hours - 40) + rng.logistic(size=n_rows)
    return pd.DataFrame(
        {
            "age": age,
            "education": [f"level {level:02d} of sixteen" for level in education],
            "hours-per-week": hours,
            "race": rng.choice(["Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other", "White"], n_rows),
            "workclass": rng.choice(["Private", "Self-emp-not-inc", "State-gov", "Federal-gov"], n_rows),
            "capital-gain": np.where(rng.random(n_rows) < 0.9, 0, rng.integers(1, 99_999, n_rows)),
            "income": np.where(score > 1.5, ">50K", "<=50K"),
        }
    )


def _classifier(sanitizer: Any, table: pd.DataFrame, sensitive: list[str], public: list[str]) -> Any:
    fitted = sanitizer.set_params(sensitive=sensitive, public=public).fit(table)
    report = fitted.report_
    if len(public) > 2:
        return report
    distribution = sz.JointDistribution.from_frame(table, sensitive, public)
    if len(distribution.public) > 50:
        return report
    return report.with_curve(
        sz.release.choosing.tradeoff_curve(distribution, sz.subset_merging, [0.1, 0.3, 0.5, 0.7, 1.0, 1.5])
    )


def _risk_excess(table: pd.DataFrame) -> Any:
    public = ["cholesterol", "blood_pressure"]
    joint = sz.JointDistribution.from_frame(table, "heart_disease", public)
    return sz.LeakageReport.measure(
        joint, sz.Channel.identity(len(joint.public), joint.public), sz.LiftBudget(lower=1.0, upper=0.5)
    )
