"""A reviewed release policy in TOML: every column with its role, the budget, and how the channels are designed."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from sanitize._files.names import path_of
from sanitize.errors import ColumnError, PolicyError
from sanitize.policy import _channels as tables
from sanitize.policy import _reader as keys
from sanitize.policy._channels import PolicyBudget, PolicyChannel, read_budget, read_channel
from sanitize.policy._secret_dp import check_secret_dp
from sanitize.policy._shape import Misshapen, check_shape

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from sanitize._release.designers.designer import Designer
    from sanitize.policy._reader import Section
    from sanitize.transformers import Sanitizer

VERSION = 1
# A policy is written by people; more than this is another kind of file.
_MOST_BYTES = 1 << 20


@dataclass(frozen=True)
class Policy:
    """What may be released from a table and how: the part of a release that people review and sign off. Frozen.

    A policy is a TOML file. It lists every column of the source exactly once, under ``sensitive``, ``public``,
    ``keep`` or ``drop``, or as the ``unit``, so that a column nobody has thought about stops the run. It holds no data.
    The JSON schema ``sanitize/policy/policy.schema.json`` describes it to editors.

    Attributes
    ----------
    sensitive, keep, drop : tuple of str
        Columns to protect, to release as they are, and to leave out.
    channels : tuple of PolicyChannel
        One, from ``columns.public`` and the table ``[channel]``, or several from ``[[channel]]`` tables, each with
        public columns of its own.
    budget : PolicyBudget
        What everything released together may tell about the sensitive columns.
    rows : {"shuffle", "keep"}
    audience : {"internal", "public"}
        Who reads the report.
    missing : {"category", "error"}
    handle_unknown : {"high_risk", "error"}
    workers : int or None
        Threads that read, count and draw; None for all cores.
    delimiter : str or None
        What stands between the fields of a source in CSV; None where its header tells.
    ledger : Path or None
        File that records releases of the same rows, or of the same units; relative to the policy's folder.
    unit : str or None
        Column that says whose a row is; it is not released.
    title, date : str or None
        Heading of the report, and the date that it shows, as 2026-01-31; no clock is read.

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
    unit: str | None = None
    title: str | None = None
    date: str | None = None
    delimiter: str | None = None

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Policy:
        """Policy in a TOML file.

        Raises
        ------
        PolicyError
            If there is no such file, it is not TOML, or a key is unknown, missing or out of range.
        """
        file = path_of(path, PolicyError)
        try:
            with file.open("rb") as stream:
                content = stream.read(_MOST_BYTES + 1)
            if len(content) > _MOST_BYTES:
                raise PolicyError(f"{file.name} is larger than any policy; name a TOML file")
            return cls.from_toml(content.decode("utf-8-sig"), folder=file.parent, name=file.name)
        except OSError as error:
            raise PolicyError(f"the policy {file.name} cannot be read ({error.strerror}); check its name") from None
        except UnicodeDecodeError:
            raise PolicyError(f"{file.name} is not UTF-8 text; save it as TOML in UTF-8") from None

    @classmethod
    def from_toml(cls, text: str, *, folder: str | os.PathLike[str] = ".", name: str = "the policy") -> Policy:
        """Policy in TOML text.

        Parameters
        ----------
        text : str
        folder : path
            What the path of a ledger is relative to.
        name : str
            What to call the text in errors.
        """
        try:
            check_shape(text)
            values = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise PolicyError(f"{name} is not TOML: {error}") from None
        except ValueError as error:  # Python reads no integer of thousands of digits
            said = str(error) if isinstance(error, Misshapen) else "it has a number of too many digits; shorten it"
            raise PolicyError(f"{name} is no policy: {said}") from None
        try:
            return cls.from_dict(values, folder=folder)
        except PolicyError as error:
            raise PolicyError(f"{name}: {error}", error.key) from None

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], *, folder: str | os.PathLike[str] = ".") -> Policy:
        """Policy in the tables, arrays and values that TOML text stands for."""
        top = keys.Section(values)
        version = top.need("version", keys.whole(1), f"version = {VERSION}")
        if version != VERSION:
            raise PolicyError(f"version is {version}, and this sanitize reads version {VERSION}", "version")
        columns = top.need("columns", keys.table, '[columns] with sensitive = ["..."] and public = ["..."]')
        sensitive = columns.need("sensitive", tables.COLUMNS["sensitive"], 'sensitive = ["income"]')
        keep, drop = (
            columns.take("keep", tables.COLUMNS["keep"]) or (),
            columns.take("drop", tables.COLUMNS["drop"]) or (),
        )
        unit = columns.take("unit", tables.UNIT)
        budget = top.need("budget", read_budget, "[budget] with lower = 1.5 and upper = 0.5 (nats)")
        channels = _channels(top, columns, budget, keep)
        columns.done()
        keys.exactly_once(
            [
                ("columns.sensitive", sensitive),
                *((f"channel {c.name!r}" if len(channels) > 1 else "columns.public", c.public) for c in channels),
                ("columns.keep", keep),
                ("columns.drop", drop),
                ("columns.unit", () if unit is None else (unit,)),
            ]
        )
        for channel in channels:
            for column in channel.bins:
                if column not in (*sensitive, *channel.public):
                    raise PolicyError(f"bins names {column!r}, which is no column of its channel", f"bins.{column}")
        chosen: dict[str, Any] = {
            key: top.take(key, form, form.schema["enum"][0]) for key, form in tables.CHOICES.items()
        }
        workers = top.take("workers", tables.WORKERS)
        chosen["delimiter"] = top.take("delimiter", tables.DELIMITER)
        ledger = top.take("ledger", tables.LEDGER)
        chosen |= {"title": top.take("title", tables.TITLE), "date": top.take("date", tables.DATE)}
        if unit is not None and ledger is None:
            raise PolicyError('columns.unit needs a ledger of the units, as in ledger = "people.units"', "ledger")
        top.done()
        check_secret_dp([channel.settings for channel in channels], chosen["rows"], ledger)
        channels = tuple(channel.within(Path(folder)) for channel in channels)
        place = None if ledger is None else Path(folder) / ledger
        return cls(sensitive, channels, budget, keep, drop, workers=workers, ledger=place, unit=unit, **chosen)

    @property
    def public(self) -> tuple[str, ...]:
        """Columns released through a channel."""
        return tuple(name for channel in self.channels for name in channel.public)

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that the source must have."""
        return (*self.sensitive, *self.public, *self.keep, *self.drop, *(() if self.unit is None else (self.unit,)))

    def check(self, columns: Sequence[str]) -> None:
        """Refuse a source with a column that the policy does not list, or without one that it lists.

        Raises
        ------
        ColumnError
        """
        if absent := [name for name in self.columns if name not in columns]:
            raise ColumnError.absent(absent, columns)
        if unlisted := [name for name in dict.fromkeys(columns) if name not in self.columns]:
            column, it = ("column", "it") if len(unlisted) == 1 else ("columns", "them")
            raise ColumnError(
                f"the policy does not list the {column} {', '.join(map(repr, unlisted))} of the source; add {it} to "
                "sensitive, public, keep or drop",
                unlisted[0] if len(unlisted) == 1 else None,
            )
        for name in columns:
            if list(columns).count(name) > 1:
                raise ColumnError(f"the source has two columns named {name!r}; rename one first", name)

    def sanitizer(self, random_state: Any = None) -> Sanitizer:
        """The estimator that the policy asks for, not fitted.

        One channel without kept columns gives the estimator of its mechanism, anything else a `JointRelease`.

        Parameters
        ----------
        random_state : None, int, Generator or NoiseKey
            None is a cryptographic generator keyed by the operating system; a policy never holds a seed.
        """
        import sanitize.transformers

        made: Sanitizer = _built(self, partial(getattr, sanitize.transformers), random_state)
        return made


def designer_of(policy: Policy) -> Designer:
    """The same as ``policy.sanitizer()`` without scikit-learn, for who releases files and fits nothing else."""
    from sanitize._release.designers.by_name import designer

    made: Designer = _built(policy, designer, None)
    return made


def _built(policy: Policy, kind: Callable[[str], Any], random_state: Any) -> Any:
    """What designs a policy's release; ``kind`` gives the class of a name."""
    build: dict[str, Any] = {
        "sensitive": policy.sensitive,
        "missing": policy.missing,
        "handle_unknown": policy.handle_unknown,
        "kind": kind,
    }
    if not is_joint(policy):
        return policy.channels[0].build(policy.budget.build(), **build, random_state=random_state)
    parts = [
        (channel.name, channel.build(channel.budget and channel.budget.build(), **build, random_state=None))
        for channel in policy.channels
    ]
    return kind("JointRelease")(
        parts,
        policy.budget.build(),
        sensitive=list(policy.sensitive),
        keep=list(policy.keep) or None,
        missing=policy.missing,
        handle_unknown=policy.handle_unknown,
        random_state=random_state,
    )


def is_joint(policy: Policy) -> bool:
    """Whether its release is a joint one: several channels, a channel with a budget of its own, or kept columns."""
    return len(policy.channels) != 1 or bool(policy.keep) or policy.channels[0].budget is not None


def _channels(top: Section, columns: Section, budget: PolicyBudget, keep: tuple[str, ...]) -> tuple[PolicyChannel, ...]:
    """One channel for all public columns, or several with their own."""
    several = isinstance(top.values.get("channel"), list)
    if several:
        columns.refuse("public", "each [[channel]] names its own public columns; move them there")
        channels = top.need("channel", _several, "[[channel]]")
    else:
        public = columns.need("public", tables.COLUMNS["public"], 'public = ["age", "town"]')
        section = top.take("channel", keys.table) or keys.Section({}, "channel")
        for key in ("name", "public", "budget"):
            section.refuse(key, "it belongs to [[channel]] tables; with one [channel] use columns.public and [budget]")
        channels = (read_channel(section, "release", public, None),)
    if several or keep:
        if budget.notion not in tables.MERGING:
            raise PolicyError(
                "budget.notion must limit what is told about the sensitive columns (lift, ldp, l1, chi2 or alpha) "
                "where several channels or kept columns are released together; give the channel a budget of its own",
                "budget.notion",
            )
        for channel in channels:
            _check_part(channel)
            _check_sequential(channel)
    else:
        _check_notion(channels[0], budget, "budget")
    return channels


def _check_part(channel: PolicyChannel) -> None:
    """Refuse a whole table as one channel of several."""
    if channel.mechanism in tables.TREES:
        raise PolicyError(
            f"{channel.mechanism} releases a whole table through one channel, without others and without kept columns; "
            "list all columns under columns.public, with one [channel]",
            "channel.mechanism",
        )


def _check_sequential(channel: PolicyChannel) -> None:
    """Refuse a channel without a budget of its own that cannot be designed given the other columns."""
    if channel.budget is not None:
        return
    if channel.mechanism not in tables.SEQUENTIAL:
        raise PolicyError(
            f"{channel.mechanism} needs a budget of its own beside kept columns or other channels; write [[channel]] "
            f'with budget = {{ notion = "{tables.MECHANISMS[channel.mechanism][1][0]}", ... }}, or take subset-merging',
            "channel.budget",
        )
    if channel.settings.get("smoothing"):
        raise PolicyError(
            "smoothing must be 0 in a channel without a budget of its own beside kept columns or other channels",
            "channel.smoothing",
        )


def _several(value: Any, where: str) -> tuple[PolicyChannel, ...]:
    """Channels with names and public columns of their own."""
    found: list[PolicyChannel] = []
    if not value:
        raise PolicyError(f"{where} is empty; give at least one [[channel]], or one [channel]", where)
    for i, entry in enumerate(value):
        section = keys.table(entry, f"{where}[{i}]")
        name = section.need("name", keys.text, 'name = "home"')
        if name in tables.RESERVED or "__" in name:
            raise PolicyError(f"{where}[{i}].name must not be {name!r}; choose another name", f"{where}[{i}].name")
        public = section.need("public", keys.some_names, 'public = ["age", "town"]')
        own = section.take("budget", read_budget)
        channel = read_channel(section, name, public, own)
        if channel.mechanism == tables.AUTO:
            where_ = f"{where}[{i}].mechanism"
            raise PolicyError(f"{where_}: auto chooses for one [channel] alone; name the mechanism of each", where_)
        if name in {other.name for other in found}:
            raise PolicyError(f"{where}[{i}].name {name!r} is taken; give each channel its own name", where)
        if own is not None:
            _check_notion(channel, own, f"{where}[{i}].budget")
        found.append(channel)
    return tuple(found)


def _check_notion(channel: PolicyChannel, budget: PolicyBudget, where: str) -> None:
    allowed = tables.MECHANISMS[channel.mechanism][1]
    if budget.notion not in allowed:
        raise PolicyError(
            f"{where}.notion must be {' or '.join(map(repr, allowed))} with {channel.mechanism}, got {budget.notion!r}",
            f"{where}.notion",
        )
