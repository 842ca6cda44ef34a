"""Release of whole people: one symbol per person, from which all rows of the person in all tables are generated."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sanitize._util.outputs import outputs, writing
from sanitize._util.sampling.noise import NoiseKey, random_words
from sanitize.core.binning import is_numeric
from sanitize.errors import ColumnError, InvalidParameter, SourceError
from sanitize.people._halves import halve_units, side_by_side
from sanitize.people._history import HistoryModel, Owners
from sanitize.people._private import FlatRecords
from sanitize.people._profiles import Child, OwnedRows, read_units
from sanitize.release.designer import RecipeDesigner, release_footer
from sanitize.release.first_pass import MemoryTable
from sanitize.release.layout import select
from sanitize.release.recipes.classes import LatentClassReleaseRecipe
from sanitize.release.recipes.promise import check_settings, require_confidence
from sanitize.release.survey import refuse_identifiers
from sanitize.report import LeakageReport, Section
from sanitize.tables.files.open import Among, Target, to_path, whole_table
from sanitize.tables.frame import Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from sanitize.over_time import UnitLedger, UnitReport
    from sanitize.release.classes import ClassPartition
    from sanitize.release.release import FittedRelease

    Features = NDArray[np.float32]  # known features of each owner, shape (n_owners, n_features)
    Line = tuple[str | float, ...]  # rows of a report section about one table

# Models are tilted to this many generated units, enough for chance to be below a percent. The seed is fixed, because
# these units are never released, so that a design is the same each time.
_TRIED, _SEED = 10_000, 0
Tables: TypeAlias = "Mapping[str, Any] | str | os.PathLike[str]"


class UnitRelease:
    """Release tables in which a unit, such as a person, has several rows, with a budget for whole units.

    The rows of a unit are summarized in a profile, and a latent class is drawn given the profile. The channel is
    designed and certified on classes, with one row per unit, and releases one class for each unit. For this class a
    model generates a profile, and then rows of each table, given the profile, the previous row and other columns. All
    rows of a unit are drawn from its one released class, so together they reveal no more about the sensitive value than
    the class does (data processing): the budget holds for readers of a whole history. The models are learned from
    patterns that many units share, which is measured, not proven, as for single rows. With ``record_dp``, everything
    except the symbols is differentially private when one unit, with all of its rows, is replaced by another: one record
    per unit is counted with noise. Columns of children are declared as ``table: column``.

    Parameters
    ----------
    sanitizer : LatentClassRelease or Policy
        Estimator that designs the channel. Its public columns are the released columns of the root, all by default. A
        policy also sets the following parameters.
    key : str, optional
        Column that identifies the unit. Released tables have new keys, the same in every table.
    children : mapping of name to Child, optional
        Tables whose rows belong to rows of other tables.
    root : str, optional
        Table with one row per unit. Without a root there must be a single child; its columns that are constant within
        each unit, which must include the sensitive ones, are the unit's own.
    ledger : UnitLedger, optional
        Ledger of releases of the same units, month after month, each with its own tables and design. The ledger limits
        the total leakage about each unit, and units for which nothing more may be released are left out.

    Attributes
    ----------
    report_ : LeakageReport
        Report on units, with the total leakage of all releases in a ledger; after a release also with the utility of
        histories.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> import sanitize as sz
    >>> from sanitize.people import Child, UnitRelease
    >>> rng = np.random.default_rng(0)
    >>> ill = rng.integers(0, 2, 3000)
    >>> people = pd.DataFrame({"person": np.arange(3000), "ill": ill})
    >>> of = np.repeat(np.arange(3000), rng.integers(1, 6, 3000))
    >>> visits = pd.DataFrame({"person": of, "code": np.where(rng.random(len(of)) < 0.3 + 0.2 * ill[of], "A", "B")})
    >>> design = sz.LatentClassRelease(sz.LiftBudget(at_most=1.3, at_least=0.7), sensitive="ill", random_state=0)
    >>> units = UnitRelease(design, key="person", children={"visits": Child()}, root="people")
    >>> released = units.fit({"people": people, "visits": visits}).release()
    >>> len(released["people"]), set(released["visits"]["person"]) <= set(released["people"]["person"])
    (3000, True)
    """

    def __init__(
        self,
        sanitizer: Any,
        key: str | None = None,
        children: Mapping[str, Child] | None = None,
        root: str | None = None,
        ledger: UnitLedger | None = None,
    ) -> None:
        if hasattr(sanitizer, "tables"):  # a policy
            key, children, root = key or sanitizer.unit, children or sanitizer.tables, root or sanitizer.root
        if key is None or not children:
            raise InvalidParameter(
                "give key= (the column that identifies units) and children= (the tables with the rows of the units)"
            )
        if ledger is not None and ledger.unit != key:
            words = f"identifies units by {ledger.unit!r}, and this release by {key!r}; use the same column"
            raise InvalidParameter(f"the ledger {words}")
        self.sanitizer, self.key, self.children, self.root, self.ledger = sanitizer, key, dict(children), root, ledger
        recipe = (sanitizer._releaser() if hasattr(sanitizer, "_releaser") else sanitizer).recipe()
        if not isinstance(recipe, LatentClassReleaseRecipe):
            raise InvalidParameter(f"sanitizer must be a LatentClassRelease to release units, got {recipe.estimator()}")
        if recipe.promise is not None:
            check_settings(vars(recipe))
            require_confidence(recipe.confidence, recipe.promise.keyword)
            if recipe.record_dp is None:
                raise InvalidParameter(
                    "secret_dp does not cover units with several rows; leave it out, or use record_dp"
                )
            if root is None:
                raise InvalidParameter("record_dp needs the table with one row for each unit: name it with root=")
            if ledger is not None:
                raise InvalidParameter(
                    "ledger= and record_dp= cannot be combined: a ledger counts without noise; leave one out"
                )
        if ledger is None and getattr(sanitizer, "ledger", None) is not None and not sanitizer.is_noisy:
            example = f"ledger=UnitLedger({sanitizer.ledger.name!r}, budget, unit={key!r})"
            raise InvalidParameter(f"the policy names a ledger of units: give {example}")
        self._recipe = recipe
        for name, child in self.children.items():
            if Path(name).name != name:
                raise InvalidParameter(f"table {name!r} cannot be the name of a file; rename it")
            above = self.children.get(child.parent or "")
            if child.parent not in (None, root) and (above is None or above.id is None):
                raise InvalidParameter(
                    f"the parent of table {name!r} must be the root or a child with id=, got {child.parent!r}"
                )
            if above is not None and above.parent not in (None, root):
                raise InvalidParameter(
                    f"table {name!r} is three levels below the units, and at most two are possible; leave it out"
                )
        if root is None and (len(self.children) != 1 or recipe.public is not None):
            raise InvalidParameter(
                "without root=, give exactly one table in children=, and name public columns in its Child only; with "
                "several tables, give root=, the table with one row per unit"
            )

    def profiles(self, tables: Tables) -> Any:
        """Return a table with one row per unit: its own columns, and summaries of its rows in other tables.

        Functions for single rows, such as `sanitize.auditing.attack.judge`, can use the profiles to judge whole people.

        Parameters
        ----------
        tables : mapping of name to table; or path
            DataFrames or pyarrow Tables; or a folder with a Parquet file ``NAME.parquet``, or a folder ``NAME`` of
            Parquet files, for each table.

        Returns
        -------
        Table of the kind of the root's, or of the only one's
        """
        root = self._read(tables)
        return root.table.rebuild(root.columns)

    def halves(self, tables: Tables) -> Any:
        """Return the profiles of the earlier and the later half of the rows of each unit, side by side.

        If an attacker knows a person by one half and has a file with the other half, `sanitize.auditing.attack.judge`
        tests whether a release links the two: its ``half`` are the columns whose names begin with "later".

        Parameters
        ----------
        tables : mapping of name to table; or path
            See `profiles`.

        Returns
        -------
        Table of the kind of the root's, or of the only one's
        """
        read = self._open_tables(tables)
        root = self._read(read)
        halves = self._read(halve_units(read, self.key, self.children, self.root, root.keys))
        return root.table.rebuild(side_by_side(root, halves))

    def _open_tables(self, tables: Tables) -> dict[str, Table]:
        names = [name for name in (self.root, *self.children) if name is not None]
        if isinstance(tables, (str, os.PathLike)):
            folder = to_path(tables, SourceError)
            files = [file if (file := folder / f"{name}.parquet").exists() else folder / name for name in names]
            tables = {name: whole_table(file, also=None) for name, file in zip(names, files, strict=True)}
        if absent := [name for name in names if name not in tables]:
            raise InvalidParameter(f"table {absent[0]!r} is missing; give all tables that children= names")
        return {name: Table.from_native(tables[name]) for name in names}

    def _read(self, tables: Tables) -> OwnedRows:
        read = self._open_tables(tables)
        columns, first = None, next(iter(read.values()))
        if self._recipe.public is not None:
            columns = select("public", self._recipe.public, first)
            with contextlib.suppress(ColumnError):  # a release has no sensitive columns
                columns += select("sensitive", self._recipe.sensitive, first)
        declared = None if self._recipe.record_dp is None else self._recipe.record_dp.values
        return read_units(read, self.key, self.children, self.root, columns, declared)

    def fit(self, tables: Tables) -> Self:
        """Summarise the rows of each unit, fit classes, design the channel, and learn the models of histories.

        Parameters
        ----------
        tables : mapping of name to table; or path
            See `profiles`.

        Raises
        ------
        BudgetExceeded
            If the designed channel exceeds the budget.
        ColumnError
            If a key refers to no row, or a sensitive column is not constant within units.
        """
        self._rows = root = self._read(tables)
        self._models: dict[str, HistoryModel] = {}
        self._folder = Path(tables) if isinstance(tables, (str, os.PathLike)) else None
        if hasattr(self.sanitizer, "check"):  # a policy lists all columns
            self.sanitizer.check(list(root.types))
        secrets = select("sensitive", self._recipe.sensitive, root.table)
        for name in secrets:
            if name not in root.columns:
                raise ColumnError.fault(
                    name, "must have the same value in all rows of a unit; correct it, or leave it out"
                )
        public = [name for name in root.columns if name not in secrets]
        recipe = self._recipe.with_changes(public=public, sensitive=list(secrets), summaries=root.summary_names)
        flat, extra_columns = None, dict[str, pa.Array]()
        if recipe.record_dp is not None:
            flat = FlatRecords.from_units(root, recipe.with_changes(public=None))  # all columns
            recipe, extra_columns = flat.recipe, flat.columns
        for rows in root.below if flat is None else ():
            refuse_identifiers(rows.columns, sorted(rows.columns.keys() - {rows.child.order, *rows.summary_names}))
        self._words = random_words(recipe.random_state)
        table = MemoryTable(Table.from_native(pa.table({**root.columns, **extra_columns})))
        layout = recipe.fit_layout(recipe.roles(table), table.columns, self._words, extra_columns=extra_columns)
        layout = replace(layout, is_shuffled=True)
        # From here on, rows of private tables are not read.
        learned = root if flat is None else flat.generate_rows(layout.source)
        self._rows = root = replace(root, children=learned.children)
        recipe.check_files()
        counts = recipe.count(table, layout, "shuffle")
        fitted = recipe.design(layout, counts)
        self._designer = RecipeDesigner(recipe)
        self._designer._remember(fitted)
        self._release = self._designer._release
        rows_of = self._release.symbol_rows(counts.table)
        if isinstance(recipe.random_state, NoiseKey):
            recipe.random_state.bind(fitted.channel, rows_of.tobytes(), None)
        self._classes = classes = layout.partition
        vars(self).pop("report_", None)
        # Released units have generated features, so models are tilted to such features. These units are never released.
        seed, p_y = NoiseKey.from_seed(_SEED), fitted.channel.push(rows_of[None] / rows_of.sum())[0]
        cells = np.searchsorted(np.cumsum(p_y)[:-1], np.linspace(0, 1, _TRIED, endpoint=False), side="right")
        # The order is random, so that the first rows, which suffice if there are many, contain all symbols.
        mixed = np.argsort(seed.derive("order").words_at(0, np.arange(_TRIED)))
        tried = self._release.decode(cells[mixed], seed)
        self._learn(root, _features(classes, learned.columns), tried, _features(classes, tried))
        return self

    @cached_property
    def report_(self) -> LeakageReport:
        """Report of the release or, before any release, of the fit; with a ledger, it also covers earlier releases."""
        history = None if self.ledger is None else self.ledger.check(self._told, self._designer)
        return self._make_report([], history)

    def _learn(self, above: OwnedRows, features: Features, tried: Mapping[str, Any], tried_features: Features) -> None:
        """Learn the models that generate the rows of all tables that belong to ``above``."""
        seed = NoiseKey.from_seed(_SEED)
        for child in above.children:
            of_owner, n = _with_nobody(features, child.n_nobody), len(tried_features)
            inputs = of_owner[child.owner]
            numbers = child.owner_rows(tried, n)
            owner, shares = np.repeat(np.arange(n), numbers)[: _TRIED * 10], child.shares(tried, n)
            if child.columns:
                table = {name: child.distances(name) for name in child.columns}
                words = self._words.derive(f"learn {child.name}")
                model = HistoryModel.fit(table, Owners(child.owner, child.unit, of_owner), words, child.before)
                self._models[child.name] = model = model.tilt(owner, tried_features, shares, seed)
            if not child.children:
                continue
            columns, owner_features = {}, tried_features[owner]
            if child.columns:
                states = model.draw_states(owner, tried_features, shares, seed)
                columns, owner_features = model.write(states, seed), _join_features(states, owner_features)
                inputs = np.hstack([model.features(table), inputs])
            columns |= _copy_shared(child, tried, pa.array(owner))
            self._learn(child, inputs, columns, owner_features)

    def release(self) -> dict[str, Any]:
        """Draw a symbol for each unit, and generate its rows in all tables, with new keys and in a new order.

        Returns
        -------
        dict of name to table, each of the same kind as the table given
        """
        with self._draw_units(None) as drawn:
            return self._generate_tables(*drawn)

    @contextlib.contextmanager
    def _draw_units(self, target: Path | None) -> Iterator[tuple[FittedRelease, NoiseKey, NDArray[np.int32]]]:
        """Yield the release, its noise, and a symbol for each released unit; a ledger records the release."""
        if self.ledger is None:
            words = self._words.derive("release")
            yield self._release, words, self._release.channel.sample(self._release.encode(self._told)[0], words)
        else:
            with self.ledger.spending(self._told, self._designer, target=target) as (release, words, symbols):
                yield release, words, symbols[symbols >= 0]

    @property
    def _told(self) -> dict[str, Any]:
        """Columns of units, with the identifiers of the units."""
        return {**self._rows.columns, self.key: self._rows.keys}

    def _generate_tables(self, release: FittedRelease, words: NoiseKey, drawn: NDArray[np.int32]) -> dict[str, Any]:
        root = self._rows
        order, keys = words.derive("order").words_at(0, np.arange(len(drawn))), np.arange(1, len(drawn) + 1)
        printed = release.decode(drawn[np.argsort(order, kind="stable")], words)
        tables = {} if self.root is None else {self.root: _rebuild_table(root, printed, {self.key: keys})}
        lines: list[Line] = []
        for name, rows, line in self._generate_rows(root, printed, _features(self._classes, printed), keys, words):
            tables[name] = rows
            lines.append(line)
        self.report_ = self._make_report(lines, None if self.ledger is None else self.ledger.report())
        return {name: tables[name] for name in (self.root, *self.children) if name is not None}

    def _generate_rows(
        self,
        above: OwnedRows,
        printed: Mapping[str, Any],
        features: Features,
        keys: NDArray[np.intp],
        words: NoiseKey,
    ) -> Iterator[tuple[str, Any, Line]]:
        """Yield name, rows and similarity to the original for each table with rows of the generated owners."""
        for child in above.children:
            n, of_owner = len(keys), _with_nobody(features, child.n_nobody)
            numbers = np.append(child.owner_rows(printed, n), np.ones(child.n_nobody, np.intp))
            owner = np.repeat(np.arange(len(numbers)), numbers)
            columns, owner_features, moved = {}, of_owner[owner], 0.0
            if (model := self._models.get(child.name)) is not None:
                own_words = words.derive(child.name)
                states = model.draw_states(owner, of_owner, child.shares(printed, len(numbers)), own_words)
                columns, moved = model.write(states, own_words), model.transition_distance(states, owner)
                owner_features = _join_features(states, owner_features)
            place = pa.array(owner, mask=owner >= n)
            columns |= _copy_shared(child, printed, place)
            if (order := child.child.order) in child.columns:
                columns[order] = child.places(columns[order], printed[child.start].take(place), owner)
            row_keys = np.arange(1, len(owner) + 1)
            of_keys = np.append(keys, np.zeros(child.n_nobody, np.intp))[owner]
            key_columns = {child.child.key or self.key: of_keys, child.child.id or "": row_keys}
            like = float(len(child.owner)), float(len(owner)), child.distance(numbers[:n]), moved
            yield child.name, _rebuild_table(child, columns, key_columns), (child.name, *like)
            yield from self._generate_rows(child, columns, owner_features, row_keys, words)

    def write(self, target: str | os.PathLike[str] | Among, *, force: bool = False) -> LeakageReport:
        """Write the release into a new folder: a Parquet file ``NAME.parquet`` for each table, all or nothing.

        Parameters
        ----------
        target : path
            New folder, neither inside nor around the folder of the fitted tables.
        force : bool
            Whether to replace an existing folder.

        Raises
        ------
        TargetError
            If the folder exists, or cannot be written.
        """
        among = target if isinstance(target, Among) else None
        path: Any = target if among is None else among.target
        place = Target.check(path, self._folder, force=force, as_folder=True)
        with contextlib.nullcontext(among.outputs) if among else outputs() as run:
            released = self._generate_tables(*run.during.enter_context(self._draw_units(place.path)))
            metadata = {"sanitize": release_footer(self.report_, "shuffle")}
            place.clear_stale()
            with run.folder(place.path, replaces=force) as hidden, writing(place.path):
                for name, native in released.items():
                    table, file = Table.from_native(native).to_arrow(), hidden / f"{name}.parquet"
                    with pq.ParquetWriter(file, table.schema, store_schema=False, compression="zstd") as writer:
                        writer.add_key_value_metadata(metadata)
                        writer.write_table(table)
        return self.report_

    def _make_report(self, lines: list[Line], history: UnitReport | None) -> LeakageReport:
        """Return the report of the design, with sections on whole units and on all releases in the ledger."""
        report = self._designer.report_
        words = "all rows of one are written from one symbol of its own."
        whom = f"Whole units are released, named by {self.key!r}: {words}"
        words = (
            f"Each row that this report counts is a unit, named by {self.key!r}. It has one symbol, drawn once, and "
            "all of its rows in all tables are written from it: a whole history reveals no more about the sensitive "
            "value than the symbol."
        )
        heads = ("table", "rows", "printed", "rows of an owner (KS)", "what follows what (total variation)")
        sections = [Section("units", "Whole units", words, heads if lines else (), tuple(lines))]
        if history is not None:
            words = f"{'; '.join(history.summary)}. Figures of the design are of this release by itself."
            sections.append(Section("over_time", "All releases of these units", words))
        n = None if history is None else len(history.releases)
        facts = replace(report.facts, people=f"{whom} {report.facts.people}", recorded=n)
        report = replace(report, facts=facts)
        return reduce(LeakageReport.with_section, sections, report)


def _copy_shared(child: OwnedRows, owners: Mapping[str, Any], owner: pa.Array) -> dict[str, Any]:
    """Columns of generated rows that are constant in the rows of an owner, from the columns of generated owners."""
    return {name: owners[source].take(owner) for name, source in child.shared.items() if source in owners}


def _join_features(states: NDArray[np.intp], features: Features) -> Features:
    """Features of generated rows, as owners of other rows: their states, followed by the features of their owners."""
    return np.hstack([states.T.astype(np.float32), features])


def _rebuild_table(rows: OwnedRows, columns: Mapping[str, Any], keys: Mapping[str, NDArray[np.intp]]) -> Any:
    """Rebuild a generated table with its original columns and new keys."""
    result = {}
    for name, dtype in rows.types.items():
        if name in keys:  # numbers, or numbers as text; 0 is missing
            numbers, missing = keys[name], keys[name] == 0
            width = len(str(numbers.max(initial=0)))
            as_they_were = numbers if is_numeric(dtype) else [f"{number:0{width}d}" for number in numbers.tolist()]
            result[name] = pa.array(as_they_were, mask=missing)
        elif name in columns:
            result[name] = columns[name]
    return rows.table.rebuild(result)


def _features(classes: ClassPartition, profile: Mapping[str, Any]) -> Features:
    """Features of units: the group of each profile value, because generated numbers need not occur in the table."""
    return np.stack([c.encode(profile[c.name]) for c in classes.columns], axis=1).astype(np.float32)


def _with_nobody(features: Features, n_nobody: int) -> Features:
    """Features of owners, followed by missing features for rows without an owner."""
    return np.concatenate([features, np.full((n_nobody, features.shape[1]), np.nan, np.float32)])
