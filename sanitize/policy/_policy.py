"""Release policy in TOML, which people review: the role of every column, the budget, and settings of the channels."""

from __future__ import annotations

import datetime
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from sanitize._util.declared import UNSET, to_builtin
from sanitize.core.binning import LearnedEdges
from sanitize.core.budgets import (
    AlphaLiftBudget,
    CapacityBudget,
    Chi2LiftBudget,
    L1LiftBudget,
    LDPBudget,
    LiftBudget,
    by_value,
)
from sanitize.errors import ColumnError, InvalidParameter, PolicyError, SourceError, in_words
from sanitize.policy._declaration import (
    CLASSES,
    DEFAULT_MECHANISM,
    DEFAULT_NOTION,
    DOCUMENT,
    MECHANISMS,
    OWNERS,
    channels_by_path,
    check,
)
from sanitize.policy._reader import Misshapen, check_shape, fitting
from sanitize.release.people import ROW
from sanitize.report import PROMISES
from sanitize.tables.files.description import TableDescription
from sanitize.tables.files.open import to_path
from sanitize.tables.files.source import read_small_file

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from sanitize.people import Child
    from sanitize.release.designer import Designer
    from sanitize.transformers import Sanitizer

# Largest policy, in bytes: policies are written by people, so a larger file is something else.
_POLICY_BYTES = 1 << 20
# Notion in a policy -> budget of the library.
_BUDGETS: dict[str, Any] = {
    "lift": LiftBudget,
    "ldp": LDPBudget,
    "l1": L1LiftBudget,
    "chi2": Chi2LiftBudget,
    "alpha": AlphaLiftBudget,
    "capacity": CapacityBudget,
}
# A policy takes the values of these keys unchanged; all others are paths, columns or forms that it converts.
_AS_GIVEN = ("rows", "audience", "missing", "handle_unknown", "workers", "root", "predict", "title", "reason")


@dataclass(frozen=True)
class PolicyBudget:
    """A budget as written in a policy.

    Attributes
    ----------
    notion : {"lift", "ldp", "l1", "chi2", "alpha", "capacity"}
    bounds : mapping of str to float
        For lift, ``at_most`` and ``at_least`` in times, each a number or a mapping by sensitive value, or ``lower`` and
        ``upper`` in nats; for alpha also ``alpha``; ``eps`` for ldp; ``nats`` for capacity. In addition to a limit on
        an average, ``limits`` is the budget of each lift.
    """

    notion: str
    bounds: Mapping[str, Any]

    def build(self) -> Any:
        """Return the budget as an object of the library."""
        return _BUDGETS[self.notion](**self.bounds)

    def scaled(self, multiple: float, only: str | None = None) -> PolicyBudget:
        """Return the budget with one or both bounds in nats multiplied by a factor; limits by value do not change."""
        if by_value(self.build()) or "limits" in self.bounds:
            return self
        bounds = dict(self.bounds)
        for key in (key for key in self.bounds if key != "alpha" and only in (None, key)):
            bounds[key] = bounds[key] ** multiple if key in ("at_most", "at_least") else bounds[key] * multiple
        return replace(self, bounds=bounds)


@dataclass(frozen=True)
class PolicyChannel:
    """One channel of a policy: the public columns released through it together, and its settings.

    Attributes
    ----------
    name : str
    public : tuple of str
    mechanism : str
        Name of the mechanism, as in the table of mechanisms.
    bins : mapping of column to edges or calendar unit
    settings : mapping of str to value
        Settings of the estimator that the policy states.
    budget : PolicyBudget or None
        Budget of the channel; None if it is designed within the budget of the whole release.
    """

    name: str
    public: tuple[str, ...]
    mechanism: str = DEFAULT_MECHANISM
    bins: Mapping[str, list[Any] | str] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    budget: PolicyBudget | None = None


@dataclass(frozen=True)
class Policy:
    """Rules for the release of a table, which people review and sign. Frozen.

    A policy is a TOML file. It lists every column of the table exactly once, under ``sensitive``, ``public``, ``keep``
    or ``drop``, or as ``person`` or ``unit``, so that a column without a decision stops the run. A policy contains no
    data. The JSON schema ``sanitize/policy/policy.schema.json`` describes policies to editors.

    Attributes
    ----------
    sensitive, keep, drop : tuple of str
        Columns to protect, to release unchanged, and to leave out.
    channels : tuple of PolicyChannel
        One channel, from ``columns.public`` and the table ``[channel]``, or several channels from ``[[channel]]``
        tables, each with public columns of its own.
    budget : PolicyBudget
        Limit on the leakage about the sensitive columns through everything released together.
    rows : {"shuffle", "keep"}
    audience : {"internal", "public"}
        Readers of the report.
    missing : {"category", "error"}
    handle_unknown : {"high_risk", "error"}
    workers : int or None
        Threads that read, count and draw; None for all cores.
    join : mapping of column to mapping of name to values
        Values of sensitive columns that are joined to one value with a new name.
    description : TableDescription
        Format of the table, from the tables ``[source]`` and ``[types]`` of the policy.
    ledger : Path or None
        File that records releases of the same rows, or of the same units; relative to the policy's folder.
    receipt : Path or None
        File for the receipt, which `verify_file` needs; relative to the policy's folder.
    person : str or None
        Column that identifies the person of each row, so that people are counted; it is not released. "row" says that
        each row is a person of its own.
    unit : str or None
        Column that identifies the unit, such as a person, to which rows of several tables belong; it is not released.
    root : str or None
        Name of the table that ``columns`` describes, if rows of other tables belong to its rows.
    tables : mapping of name to Child
        These other tables, for `sanitize.people.UnitRelease`.
    predict : str or None
        Released column that models are trained to predict, both on a twin of the release and on the raw table.
    title, date : str or None
        Heading of the report, and the date in it, such as 2026-01-31; no clock is read.
    reason : str or None
        Reason for this budget, for the dossier.

    Examples
    --------
    >>> policy = Policy.from_toml('''
    ... version = 1
    ... [columns]
    ... sensitive = ["survived"]
    ... public = ["class", "sex"]
    ... drop = ["age"]
    ... [budget]
    ... upper = 0.7
    ... lower = 1.0
    ... ''')
    >>> policy.public, policy.budget.build()
    (('class', 'sex'), LiftBudget(lower=1.0, upper=0.7))
    >>> policy.sanitizer()
    SubsetMerging(budget=LiftBudget(lower=1.0, upper=0.7), public=['class', 'sex'],
                  sensitive=['survived'])
    """

    sensitive: tuple[str, ...]
    channels: tuple[PolicyChannel, ...]
    budget: PolicyBudget
    keep: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    rows: Literal["shuffle", "keep"] = "shuffle"
    audience: Literal["internal", "public"] = "internal"
    missing: Literal["category", "error"] = "category"
    handle_unknown: Literal["high_risk", "error"] = "high_risk"
    workers: int | None = None
    ledger: Path | None = None
    receipt: Path | None = None
    person: str | None = None
    unit: str | None = None
    root: str | None = None
    tables: Mapping[str, Child] = field(default_factory=dict)
    predict: str | None = None
    title: str | None = None
    date: str | None = None
    reason: str | None = None
    description: TableDescription = field(default_factory=TableDescription)
    join: Mapping[str, Mapping[str, tuple[Any, ...]]] = field(default_factory=dict)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Policy:
        """Read a policy from a TOML file.

        Raises
        ------
        PolicyError
            If the file does not exist or is not TOML, or a key is unknown, missing or out of range.
        """
        file = to_path(path, PolicyError)
        try:
            content = read_small_file(file, _POLICY_BYTES)
            return cls.from_toml(content.decode("utf-8-sig"), folder=file.parent, name=file.name)
        except SourceError as error:
            raise PolicyError(f"the policy {error}; name a TOML file") from None
        except UnicodeDecodeError:
            raise PolicyError(f"{file.name} is not UTF-8 text; save it as TOML in UTF-8") from None

    @classmethod
    def from_toml(cls, text: str, *, folder: str | os.PathLike[str] = ".", name: str = "the policy") -> Policy:
        """Read a policy from TOML text.

        Parameters
        ----------
        text : str
        folder : path
            Folder to which the paths of a ledger and a receipt are relative.
        name : str
            Name of the text in errors.
        """
        try:
            check_shape(text)
            values = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise PolicyError(f"{name} is not TOML: {error}") from None
        except ValueError as error:  # Python refuses integers with thousands of digits
            reason = str(error) if isinstance(error, Misshapen) else "it has a number with too many digits; shorten it"
            raise PolicyError(f"{name} is not a policy: {reason}") from None
        try:
            return cls.from_dict(values, folder=folder)
        except PolicyError as error:
            raise PolicyError(f"{name}: {error}", error.key) from None

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], *, folder: str | os.PathLike[str] = ".") -> Policy:
        """Read a policy from the tables, arrays and values of parsed TOML."""
        document = fitting(DOCUMENT, _with_notions(values))
        check(document)
        columns, place = document.columns, Path(folder)
        settings = {name: getattr(document, name) for name in _AS_GIVEN}
        settings |= {name: getattr(columns, name) for name in ("keep", "drop", "person", "unit")}
        settings |= {name: file and place / file for name in ("ledger", "receipt") if (file := getattr(document, name))}
        tables = {}
        if document.table:
            from sanitize.people import Child

            tables = {table["name"]: table for table in map(to_builtin, document.table)}
            tables = {name: Child(**{k: v for k, v in table.items() if k != "name"}) for name, table in tables.items()}
        joins = document.join.items()
        return cls(
            columns.sensitive,
            tuple(_channel(part, where, place, document.ledger) for where, part in channels_by_path(document).items()),
            _budget(document.budget),
            tables=tables,
            date=document.date.isoformat() if document.date else None,
            description=_description(document),
            join={name: {new: tuple(values) for new, values in groups.items()} for name, groups in joins},
            **{name: value for name, value in settings.items() if value is not UNSET},
        )

    @property
    def public(self) -> tuple[str, ...]:
        """Names of the columns that are released through a channel."""
        return tuple(name for channel in self.channels for name in channel.public)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that the table must have."""
        extra = [name for name in (self.unit, self.person, self.description.weights) if name not in (None, ROW)]
        return (*self.sensitive, *self.public, *self.keep, *self.drop, *filter(None, extra))

    @property
    def is_noisy(self) -> bool:
        """True if the policy asks for differential privacy, so that only noisy counts may be computed from the rows."""
        return any(set(PROMISES) & set(channel.settings) for channel in self.channels)

    def check(self, columns: Sequence[str]) -> None:
        """Refuse a table with a column that the policy does not list, or without a column that it lists.

        Raises
        ------
        ColumnError
        """
        times, policy_columns = Counter(columns), set(self.columns)
        if absent := [name for name in self.columns if name not in times]:
            raise ColumnError.absent(absent, columns)
        if unlisted := [name for name in times if name not in policy_columns]:
            column, pronoun, name = ("column", "it", unlisted[0]) if len(unlisted) == 1 else ("columns", "them", None)
            words = f"of the table; add {pronoun} to sensitive, public, keep, drop or person"
            raise ColumnError(f"the policy does not list the {column} {in_words(unlisted)} {words}", name)
        if twice := next((name for name in times if times[name] > 1), None):
            raise ColumnError(f"the table has two columns named {twice!r}; rename one first", twice)

    def sanitizer(self, random_state: Any = None) -> Sanitizer:
        """Return the estimator that the policy describes, not yet fitted.

        A policy with one channel gives the estimator of its mechanism, unless tuples are combined with kept columns.
        Any other policy gives a `JointRelease`.

        Parameters
        ----------
        random_state : None, int, RandomState or NoiseKey
            None uses a cryptographic generator keyed by the operating system; a policy never contains a seed.
        """
        import sanitize.transformers

        return _build(self, partial(getattr, sanitize.transformers), random_state)

    def _releaser(self) -> Designer:
        return designer_of(self)


def designer_of(policy: Policy) -> Designer:
    """Return an object that designs the same release as ``policy.sanitizer()``, without scikit-learn."""
    from sanitize.release.designer import RecipeDesigner
    from sanitize.release.fit import recipe_type

    return RecipeDesigner(_build(policy, recipe_type, None), policy)


def _build(policy: Policy, kind: Callable[[str], Any], random_state: Any) -> Any:
    """Return the estimator or recipe that designs a policy's release; ``kind`` returns its class for a name."""
    shared: dict[str, Any] = {name: getattr(policy, name) for name in ("missing", "handle_unknown", "person")}
    shared |= {"sensitive": list(policy.sensitive), "keep": list(policy.keep) or None}

    def designer(channel: PolicyChannel, budget: PolicyBudget | None, **source: Any) -> Any:
        estimator = kind(MECHANISMS[channel.mechanism][0])
        parameters = signature(estimator).parameters
        arguments = {key: value for key, value in (shared | source).items() if key in parameters}
        arguments |= {"public": list(channel.public), "bins": {**channel.bins, **policy.join} or None}
        return estimator(budget and budget.build(), **arguments, **channel.settings)

    if not is_joint(policy):
        return designer(policy.channels[0], policy.budget, random_state=random_state)
    parts = [(channel.name, designer(channel, channel.budget, person=None)) for channel in policy.channels]
    return kind("JointRelease")(parts, policy.budget.build(), random_state=random_state, **shared)


def is_joint(policy: Policy) -> bool:
    """Return whether a policy is joint: several channels, a channel with its own budget, or tuples and kept columns."""
    keeps = bool(policy.keep) and [channel.mechanism for channel in policy.channels] != [CLASSES]
    return len(policy.channels) != 1 or keeps or policy.channels[0].budget is not None


def _with_notions(values: Any) -> Any:
    """Return the tables of a policy, with the default notion in each budget that names none."""
    if not isinstance(values, Mapping):
        return values
    tables = dict(values)
    if isinstance(tables.get("budget"), Mapping):
        tables["budget"] = {"notion": DEFAULT_NOTION, **tables["budget"]}
    if (channel := tables.get("channel")) is not None:
        tables["channel"] = [*map(_with_notions, channel)] if isinstance(channel, list) else _with_notions(channel)
    return tables


def _description(document: Any) -> TableDescription:
    source = {} if document.source is UNSET else to_builtin(document.source)
    try:
        return TableDescription(**source, types=document.types, weights=document.columns.weights or None)
    except InvalidParameter as error:
        key = "types" if "type of column" in str(error) else "source"
        raise PolicyError(f"{key}: {error}", key) from None


def _budget(budget: Any) -> PolicyBudget:
    bounds = to_builtin(budget)
    if "limits" in bounds:
        bounds["limits"] = LiftBudget(**bounds["limits"])
    return PolicyBudget(bounds.pop("notion"), bounds)


def _channel(channel: Any, where: str, folder: Path, ledger: Any) -> PolicyChannel:
    """Make a channel of a policy, with paths relative to a folder."""
    settings = {key: value for key in OWNERS if (value := getattr(channel, key)) is not UNSET}
    if channel.hierarchies:
        settings["hierarchies"] = {column: folder / name for column, name in channel.hierarchies.items()}
    for name in settings.keys() & set(PROMISES):
        from sanitize.over_time import DPLedger
        from sanitize.release.recipes.record_dp import RecordDP
        from sanitize.release.recipes.secret_dp import SecretDP

        kind, book = SecretDP if name == "secret_dp" else RecordDP, DPLedger(folder / ledger) if ledger else None
        try:
            settings[name] = kind(**to_builtin(settings[name]), ledger=book)
        except InvalidParameter as error:
            raise PolicyError(f"{where}.{name}: {error}", f"{where}.{name}") from None
    bins = {name: _cuts(cuts) for name, cuts in channel.bins.items()}
    budget = _budget(channel.budget) if channel.budget else None
    return PolicyChannel(channel.name, channel.public, channel.mechanism, bins, settings, budget)


def _cuts(cuts: Any) -> list[Any] | str:
    if isinstance(cuts, dict):
        return LearnedEdges(_cuts(cuts["learned"]))
    if isinstance(cuts, str):
        return cuts
    return [str(edge) if isinstance(edge, (str, datetime.date)) else float(edge) for edge in cuts]
