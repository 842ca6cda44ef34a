"""What is known of a release of new rows through a saved channel."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from sanitize._formatting import exact, rounded
from sanitize._version import __version__
from sanitize.report import ALONE

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from sanitize._release.first_pass import RowOrder
    from sanitize.report import Audience, LeakageReport

DISTRIBUTION = "the distribution of the rows that the channel was fitted on"


class SavedText(Protocol):
    """What a report needs of a `SavedRelease`, which imports this file."""

    @property
    def mechanism(self) -> str: ...
    @property
    def output(self) -> str: ...
    @property
    def sensitive(self) -> Sequence[str]: ...
    @property
    def public(self) -> Sequence[str]: ...
    @property
    def budget(self) -> object: ...
    @property
    def warnings(self) -> Sequence[str]: ...
    @property
    def summary(self) -> dict[str, Any]: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def contents(self) -> str: ...
    def to_json(self) -> str: ...


@dataclass(frozen=True, eq=False)
class AppendedReport:
    """What is known of a release of new rows through a saved channel.

    Figures of the fit are what the saved text says. Where the new rows hold the sensitive columns, the channel that is
    applied is measured under their frequencies, and that is the verdict: `held_out`. Where they do not, the verdict is
    the saved text's word; `kept` is computed from the applied channel all the same.

    Attributes
    ----------
    saved : SavedRelease
    n_rows : int
    held_out : LeakageReport or None
        Exact for the new rows; None where they have no sensitive columns. Its verdict may fail.
    kept : float
        I(X;Y) / H(X) of the applied channel under the frequencies of X in the new rows, between 0 and 1.
    warnings : tuple of str

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import sanitize as sz
    >>> from sanitize.transformers import SubsetMerging
    >>> folder, df = pathlib.Path(tempfile.mkdtemp()), sz.datasets.load_titanic()
    >>> sanitizer = SubsetMerging(sz.LiftBudget(lower=1.0, upper=0.7), sensitive="survived", public=["class", "sex"])
    >>> saved = sz.SavedRelease.of(sanitizer.fit(df))
    >>> df.iloc[::5].to_parquet(folder / "march.parquet")
    >>> report = sz.release_file(folder / "march.parquet", folder / "released.parquet", saved)
    >>> report.n_rows, report.ok, report.held_out.ok
    (441, True, True)
    """

    saved: SavedText
    n_rows: int
    held_out: LeakageReport | None
    kept: float
    warnings: tuple[str, ...] = field(default=())

    def with_notes(self, notes: tuple[str, ...]) -> AppendedReport:
        """Report with more to say; notes name no symbol."""
        return replace(self, warnings=(*self.warnings, *notes))

    @property
    def ok(self) -> bool:
        """Whether the applied channel is within its budget on the new rows; of the fit where that is not known."""
        return self.held_out is None or self.held_out.ok

    @property
    def headline(self) -> str:
        """What the verdict is about, or that the new rows contradict it."""
        return "HOLDS FOR THE DISTRIBUTION OF THE FIT" if self.ok else "OVER BUDGET ON THE NEW ROWS"

    @property
    def summary(self) -> dict[str, Any]:
        """The figures of the fit by name, and under which distribution they hold."""
        return {**self.saved.summary, "ok": self.ok, "kept": self.kept, "distribution": DISTRIBUTION}

    def to_dict(self, *, audience: Audience = "internal") -> dict[str, Any]:
        """The report as plain values; the public one holds no counts."""
        state = json.loads(self.saved.to_json())
        document = {
            "schema": "sanitize/appended-report",
            "version": 1,
            "library_version": __version__,
            "audience": audience,
            "distribution": DISTRIBUTION,
            "saved_release": state["sha256"],
            "mechanism": state["mechanism"],
            "budget": state["budget"],
            "columns": {"sensitive": state["sensitive"], "released": state["public"]},
            "ok": self.ok,
            "kept": self.kept if audience == "internal" else rounded(self.kept),
            "figures": state["figures"],
            "alone": ALONE,
            "held_out": None if self.held_out is None else self.held_out.to_dict(audience=audience),
            "warnings": self._warnings(audience),
        }
        return document if audience == "public" else document | {"n_rows": self.n_rows, "contents": self.saved.contents}

    def to_json(self, path: str | os.PathLike[str] | None = None, *, audience: Audience = "internal") -> str:
        """The report as JSON; written to ``path``, readable by its owner only, when one is given."""
        from sanitize._files.outputs import json_text

        return json_text(self.to_dict(audience=audience), path)

    def to_text(self, *, audience: Audience = "internal") -> str:
        """The report as text."""
        saved = self.saved
        lines = [
            f"{self.headline} | saved {saved.mechanism}, {saved.output}",
            f"sensitive: {', '.join(saved.sensitive)}    released: {', '.join(saved.public)}",
            f"budget: {saved.budget!r}",
            f"largest log-lift {_shown(saved, 'max_log_lift')}, smallest {_shown(saved, 'min_log_lift')} nats, "
            f"share of information kept {_shown(saved, 'normalized_utility')}",
            f"These figures hold under {DISTRIBUTION}; they are what the saved text says.",
            f"The channel that was applied keeps {self.kept:.4g} of the information of the new rows.",
        ]
        if audience == "internal":
            lines.insert(2, f"new rows: {self.n_rows}")
            lines.append(f"The saved text holds {saved.contents}.")
        lines += [f"! {note}" for note in self._warnings(audience)]
        if self.held_out is None:
            lines += ["The new rows have no sensitive columns, so nothing is known of their own distribution.", ALONE]
        else:
            lines += ["", "Held out: the same channel under the frequencies of the new rows", ""]
            lines.append(self.held_out.to_text(audience=audience))
        return "\n".join(lines)

    def _warnings(self, audience: Audience) -> list[str]:
        """Notes on the new rows hold counts, so the public learns only that there are some."""
        if audience == "internal" or not self.warnings:
            return [*self.saved.warnings, *self.warnings]
        return [*self.saved.warnings, "the internal report has more warnings, with counts"]

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"AppendedReport({self.saved.mechanism}, {self.n_rows} rows, held out: {self.held_out!r})"


def _shown(saved: SavedText, name: str) -> str:
    value = saved.summary.get(name)
    return "-" if value is None else f"{value:.4g}"


def footer_of(report: AppendedReport, order: RowOrder) -> bytes:
    """Verdict, budget and figures of the fit as JSON, and which saved release it was."""
    saved = report.saved
    figures = saved.summary
    text = {
        "sanitize": __version__,
        "mechanism": saved.mechanism,
        "budget": repr(saved.budget),
        "within_budget": report.ok,
        "distribution": DISTRIBUTION,
        "saved_release": saved.fingerprint,
        **{
            name: str(rounded(exact(figures.get(name))))
            for name in ("max_log_lift", "min_log_lift", "normalized_utility")
        },
        "rows": order,
    }
    return json.dumps(text).encode()
