"""SQL statements that count and release a table in a database, and a Python function that draws the same rows."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sanitize._util.checks import check_choice
from sanitize._util.limits import SQL_LINES
from sanitize._util.sampling.alias_method import Buckets, bucket_bits
from sanitize._util.sampling.noise import HiddenText, NoiseKey, hidden
from sanitize.core.binning import DateBins, Joined, is_numeric, is_of_dates
from sanitize.core.channel import SCALE_BITS
from sanitize.errors import ColumnError, InvalidParameter
from sanitize.policy import CLASSES
from sanitize.release.designer import Designer
from sanitize.release.first_pass import MemoryTable, TableCounter
from sanitize.release.people import ROW
from sanitize.release.saved import SavedRelease
from sanitize.report import render_template
from sanitize.tables.columns import as_arrow, value_type
from sanitize.tables.files.open import open_source
from sanitize.tables.files.source import Numbers
from sanitize.tables.frame import Table

try:
    from sqlglot import exp
except ModuleNotFoundError:
    needs = "sanitize.engines.sql needs sqlglot: pip install 'sanitize-tabular[sql]'"
    raise ModuleNotFoundError(needs, name="sqlglot") from None

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sanitize.core.channel import Channel
    from sanitize.policy import Policy
    from sanitize.release.release import FittedRelease
    from sanitize.tables.files.open import SourceLike
    from sanitize.transformers import Sanitizer

Frame = TypeVar("Frame")
Arrays: TypeAlias = "tuple[NDArray[Any], ...]"
Dialect = Literal["duckdb", "postgres", "sqlite"]

# Column in the result of `Database.counts` with the number of equal rows; no column of the table may have this name.
COUNT = "n_rows"
# SHA-256 has four words of 64 bits, one for each stage that draws. Probabilities are whole numbers over 2**62, so the
# last two bits of a word are not needed.
_WORDS = 4
_TIED_BITS = 64 - SCALE_BITS
# A release and its counts are refused for the same reason.
_NO_ROWS = "SQL cannot generate rows of latent classes: release the table with sanitize.release_file"


@dataclass(frozen=True)
class Database:
    """Table in a database, with the SQL statements that count and release it.

    Attributes
    ----------
    dialect : {"duckdb", "postgres", "sqlite"}
    table : str
        Name of the table or view, with its schema before a dot if it has one.
    row_id : str or None
        Column of whole numbers or text that differs in each row; it is hashed, and never released.

    Examples
    --------
    >>> from sanitize.policy import Policy
    >>> policy = Policy.from_toml('''
    ... version = 1
    ... columns = {sensitive = ["ill"], public = ["town"], drop = ["id"]}
    ... budget = {upper = 0.7, lower = 1.0}
    ... ''')
    >>> print(Database("postgres", "clinic.people").counts(policy))
    SELECT
      "t"."ill" AS "ill",
      "t"."town" AS "town",
      COUNT(*) AS "n_rows"
    FROM "clinic"."people" AS "t"
    GROUP BY
      "t"."ill",
      "t"."town"
    """

    dialect: Dialect
    table: str
    row_id: str | None = None

    def __post_init__(self) -> None:
        check_choice("dialect", self.dialect, *get_args(Dialect))
        if len(names := self.table.split(".")) > 3 or not all(names):
            raise InvalidParameter("table must be a name, optionally with schema and catalog, as in schema.name")

    def counts(self, policy: Policy) -> str:
        """Return a ``GROUP BY`` statement that counts rows for `fit`; its result is as sensitive as the table.

        For a column with bins, the result has one value per bin, so that it contains no more than is counted.

        Raises
        ------
        InvalidParameter
            If the policy uses latent classes, which need rows, or bins dates.
        """
        coder, shown, groups = Coder(self.dialect), [], []
        bins = {name: edges for channel in policy.channels for name, edges in channel.bins.items()}
        for name in policy_columns(policy):
            column = group = coder.column(name)
            if name in bins:
                refuse_type(name, is_fit=not is_of_dates(bins[name]))
                column, group = exp.Min(this=column), coder.interval(name, [*map(float, bins[name][1:-1])], -1)
            shown.append(column.as_(name, quoted=True))
            groups.append(group)
        rows = exp.Count(this=exp.Star()).as_(COUNT, quoted=True)
        return exp.select(*shown, rows).from_(self._source).group_by(*groups).sql(self.dialect, pretty=True)

    @staticmethod
    def fit(policy: Policy, counts: SourceLike) -> Sanitizer:
        """Design the release of a policy from the result of `counts`; channel and report equal those from the table.

        Parameters
        ----------
        policy : Policy
        counts : DataFrame, pyarrow Table, stream of Arrow's batches, or path of a file of them
            Columns of the policy, and ``n_rows``, the number of equal rows.

        Returns
        -------
        Sanitizer
            Fitted estimator of the policy, with its ``report_``.

        Raises
        ------
        BudgetExceeded
            If the designed channel exceeds the budget.
        ColumnError
            If ``counts`` is not such a result.
        """
        names, designer = policy_columns(policy), policy.sanitizer()
        with open_source(counts, Numbers((*designer.numbers.columns, COUNT))) as files:
            columns = TableCounter(files).sample((*names, COUNT), files.n_rows)
        number = columns.pop(COUNT)
        if not pa.types.is_integer(number.type) or number.null_count or pc.min(number).as_py() < 1:
            raise ColumnError.fault(COUNT, "must contain the number of rows of each group, as `counts` returns it")
        recipe = designer.recipe()
        table = MemoryTable(Table.from_native(pa.table(columns)), weights=np.asarray(number).astype(np.int64))
        layout = recipe.roles(table)
        # Clipped values are counted by group and not by row, which is no figure of the table.
        counted = replace(table.count(layout, "shuffle"), clipped=Counter())
        designer._remember(recipe.design(layout, counted))
        return designer

    def release(self, saved: SavedRelease | Designer) -> str:
        """Return a statement that releases every row; its only parameter is the key, ``key.hex()`` of 32 bytes.

        The statement fails, and returns no row, if ids repeat, are missing or are neither whole numbers nor text, if a
        row has a symbol that did not occur at fit, or if the key has another length. Anyone who has the key can remove
        the noise: draw a key for each release, do not use it again, and keep it out of logs.

        Raises
        ------
        InvalidParameter
            If SQL cannot express the release, because it generates rows, reads dates, or has too many symbols.
        """
        if self.row_id is None:
            raise InvalidParameter("a release needs row_id: a column with a different value in each row")
        prefix = self._prefix
        bound, coder = sql_release(saved, self.row_id), Coder(self.dialect, prefix)
        coded = [code.as_(f"k{k}") for k, code in enumerate(coder.codes(bound))]
        symbol, codes = symbol_expression(bound)
        coder.tables[f"{prefix}inputs"] = "symbol, state", codes
        steps, last = sampling_steps(bound.channel)
        for i, (states, buckets) in enumerate(steps):
            coder.tables[f"{prefix}stage_{i}"] = "state, place, shift", number_lines(states)
            coder.tables[f"{prefix}bucket_{i}"] = "place, cut, one, other", number_lines(buckets)
        columns = {name: column.take(last) for name, column in decode_outputs(bound).items()}
        heads = [f"c{k}" for k in range(len(columns))]
        coder.tables[f"{prefix}outputs"] = ", ".join(["state", *heads]), number_lines([*columns.values()])
        if sum(len(lines) for _, lines in coder.tables.values()) > SQL_LINES:
            raise InvalidParameter(
                f"the look-up tables have more than {SQL_LINES} lines; release fewer columns at once"
            )
        key = exp.Placeholder() if self.dialect == "sqlite" else exp.Parameter(this=literal(1))
        queries: dict[str, Any] = {name: coder.table(*entry) for name, entry in coder.tables.items()}
        queries[f"{prefix}secret"] = exp.select(exp.Lower(this=exp.cast(key, "text")).as_("hex"))
        coded_rows = exp.select(coder.column(self.row_id).as_("id"), *coded).from_(self._source)
        for level, on in coder.joins.items():
            coded_rows = coded_rows.join(level, on=on, join_type="left")
        queries[f"{prefix}coded"] = coded_rows
        queries[f"{prefix}given"] = f"SELECT id, {symbol} AS symbol FROM {prefix}coded"
        queries |= drawing(self.dialect, len(steps), prefix)
        rows, outputs = f"{prefix}rows_{len(steps)}", f"{prefix}outputs"
        shown = [exp.column(head, outputs).as_(name, quoted=True) for head, name in zip(heads, columns, strict=True)]
        query = exp.select(*shown).from_(rows).join(outputs, on=f"{outputs}.state = {rows}.state")
        for name, subquery in queries.items():  # each once: in a join, a hash would be computed for every line
            query = query.with_(name, as_=subquery, materialized=True, dialect=self.dialect, copy=False)
        return query.order_by(f"{rows}.a", f"{rows}.b", copy=False).sql(self.dialect, copy=False)

    @staticmethod
    def register(connection: sqlite3.Connection) -> None:
        """Register in a SQLite connection the SHA-256 function that SQLite lacks."""
        connection.create_function("sanitize_word", 2, lambda text, part: int(hash_words([text])[0, part]))

    @property
    def _prefix(self) -> str:
        """Return a prefix for the names of queries in a statement; the name of the table does not begin with it."""
        prefix = "sanitize_"
        while self.table.lower().startswith(prefix):
            prefix += "_"
        return prefix

    @property
    def _source(self) -> exp.Table:
        name, *above = reversed(self.table.split("."))
        return exp.table_(name, *above, quoted=True, alias=exp.to_identifier("t", quoted=True))


def release(df: Frame, saved: SavedRelease | Designer, *, key: bytes | NoiseKey, row_id: str) -> Frame:
    """Release a frame as a database does, with the same rows in the same order for the same key.

    Rows are sorted by a hash of their ids, and binned numbers are written as labels. See `Database.release`.

    Parameters
    ----------
    df : pandas or polars DataFrame, pyarrow Table, or array
    saved : SavedRelease, or a fitted sanitizer
    key : 32 bytes, or NoiseKey
        Key, which must be used for one release only.
    row_id : str
        Column of whole numbers or text that differs in each row.

    Returns
    -------
    Frame of the same kind
        The released columns, without the ids.

    Raises
    ------
    ColumnError
        If ids are missing, repeat, or are neither whole numbers nor text.
    UnknownSymbol
        If a row has a public value that did not occur at fit.
    """
    key = hidden(key)
    table, bound = Table.from_native(df), sql_release(saved, row_id)
    secret = HiddenText((key if isinstance(key, NoiseKey) else NoiseKey(key)).key.hex())
    ids = id_texts(as_arrow(table[row_id], row_id), row_id)
    state: NDArray[Any] = bound.encode(table)[0]
    steps, last = sampling_steps(bound.channel)
    words, placed = (hash_words([HiddenText(f"{secret}{mark}|{text}") for text in ids]) for mark in ("", "order"))
    for word, ((place, shift), (cut, primary, alias)) in zip(words.T, steps, strict=False):
        bucket = place[state] + (word >> shift[state])
        state = np.where(word < cut[bucket], primary[bucket], alias[bucket])
    rows = pa.array(last[state[np.lexsort((placed[:, 1], placed[:, 0]))]])
    result = table.rebuild({name: column.take(rows) for name, column in decode_outputs(bound).items()})
    return result.reset_index(drop=True) if table.kind == "pandas" else result


def sampling_steps(channel: Channel) -> tuple[list[tuple[Arrays, Arrays]], NDArray[Any]]:
    """Sampling stages as Walker's alias tables, and the released symbol of each state after the last stage.

    The first table has, for each state, its first bucket and the number of bits of a word that do not select the
    bucket. The second table has, for each bucket, the threshold of 62 bits below which a word draws the first output,
    followed by both outputs.

    Raises
    ------
    InvalidParameter
        If a hash has too few words for the stages.
    """
    steps: list[tuple[Arrays, Arrays]] = []
    state = np.arange(channel.n_inputs, dtype=np.int32)
    for stage in channel.stages:
        if stage.is_deterministic:
            state = stage.indices[state]
            continue
        bits = bucket_bits(np.diff(stage.indptr))
        buckets, shift = Buckets.from_rows(stage.indptr, stage.weights, SCALE_BITS, bits), SCALE_BITS - bits
        row = np.repeat(np.arange(stage.n_inputs), 1 << bits)
        cut = (np.arange(len(row)) - buckets.offset[row] << shift[row]) + buckets.threshold
        primary, alias = (stage.indices[stage.indptr[row] + place] for place in (buckets.first, buckets.second))
        steps.append(((buckets.offset[state], shift[state]), (cut, primary, alias)))
        state = np.arange(stage.n_outputs, dtype=np.int32)
    if len(steps) > _WORDS:
        raise InvalidParameter(f"the channel draws in more than {_WORDS} stages; release fewer parts at once")
    return steps, state


def number_lines(columns: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Number the lines of a look-up table."""
    return [(i, *map(literal, line)) for i, line in enumerate(zip(*(c.tolist() for c in columns), strict=True))]


def hash_words(messages: Sequence[str]) -> NDArray[np.int64]:
    """Compute four words of 62 bits from the SHA-256 of each message, shape (n, 4)."""
    digests = b"".join(hashlib.sha256(message.encode()).digest() for message in messages)
    return (np.frombuffer(digests, ">u8").reshape(-1, _WORDS) >> np.uint64(_TIED_BITS)).astype(np.int64)


def id_texts(ids: pa.Array | pa.ChunkedArray, name: str) -> list[str]:
    """Convert ids to the texts that are hashed.

    Raises
    ------
    ColumnError
        If ids are missing, repeat, or are neither whole numbers nor text.
    """
    dtype = value_type(ids.type)
    if not (pa.types.is_integer(dtype) or pa.types.is_string(dtype) or pa.types.is_large_string(dtype)):
        raise ColumnError(f"the row id {name!r} is {dtype}; convert it to whole numbers or text first", name)
    texts: list[str] = ids.cast(dtype).cast(pa.large_string()).to_pylist()
    if surplus := len(texts) - len({text for text in texts if text is not None}):
        raise ColumnError(
            f"the row id {name!r} repeats or is missing in {surplus} rows; give each row an id of its own", name
        )
    return texts


def sql_release(saved: SavedRelease | Designer, row_id: str) -> FittedRelease:
    """Return the fitted release if SQL can express it, with unseen symbols refused.

    Raises
    ------
    InvalidParameter
        If SQL cannot express the release.
    """
    whole = saved if isinstance(saved, SavedRelease) else SavedRelease.of(saved)
    bound = replace(whole.to_release(), handle_unknown="error")
    if row_id in {*bound.layout.sensitive, *bound.layout.read, *bound.output_columns}:
        raise InvalidParameter(f"the row id {row_id!r} is also sensitive or released; name a column that is neither")
    if bound.classes is not None:
        raise InvalidParameter(_NO_ROWS)
    for name, bins in bound.layout.bins.items():
        if isinstance(bins, Joined) and name in bound.layout.read:
            raise InvalidParameter(
                f"column {name!r} has joined values, which SQL cannot write; join them in a view, and release it"
            )
        refuse_type(name, is_fit=name not in bound.layout.read or not isinstance(bins, DateBins))
    return bound


def refuse_type(name: str, *, is_fit: bool) -> None:
    """Raise an error for a column of a type that databases write as different texts."""
    if not is_fit:
        raise InvalidParameter(
            f"column {name!r} must have numbers, text or booleans, because databases write dates and other types in "
            "different ways; convert the column to text in a view, for example to the year, and release the view"
        )


def decode_outputs(bound: FittedRelease) -> dict[str, pa.Array]:
    """Return the written value of each released symbol; binned numbers are written as labels."""
    return dict(bound.channel.outputs.decode(np.arange(bound.channel.n_outputs, dtype=np.int32)))


def policy_columns(policy: Policy) -> tuple[str, ...]:
    """Columns to count for a policy, by their combinations of values.

    Raises
    ------
    InvalidParameter
        If counts do not suffice, or a column has the name of the counts.
    """
    if any(channel.mechanism == CLASSES for channel in policy.channels):
        raise InvalidParameter(_NO_ROWS)
    if policy.unit is not None or policy.ledger is not None or policy.receipt is not None:
        raise InvalidParameter(
            "SQL cannot use units, a ledger or a receipt; release the table with sanitize.release_file"
        )
    if policy.person not in (None, ROW):
        raise InvalidParameter(
            "SQL cannot count people (person=): fit a sanitizer on the table in Python, and release it in SQL"
        )
    if policy.rows == "keep":
        raise InvalidParameter("rows must be 'shuffle', got 'keep': the rows of a database have no order")
    names = (*policy.sensitive, *policy.public, *policy.keep)
    if COUNT in names:
        raise InvalidParameter(
            f"column {COUNT!r} has the name that SQL needs for the counts of rows; rename it in a view"
        )
    return names


@dataclass(frozen=True)
class Coder:
    """SQL expressions for the codes of a table's columns, with the look-up tables and joins that they need.

    Names of look-up tables begin with ``own``.
    """

    dialect: str
    prefix: str = ""
    tables: dict[str, tuple[str, list[tuple[Any, ...]]]] = field(default_factory=dict)
    joins: dict[str, exp.Expression] = field(default_factory=dict)

    def table(self, names: str, lines: list[tuple[Any, ...]]) -> exp.Expression:
        """Look-up table in SQL; DuckDB names the columns of VALUES differently from other databases."""
        heads = (f"col{k}" if self.dialect == "duckdb" else f"column{k + 1}" for k in range(len(lines[0])))
        columns = (exp.column(head).as_(name) for head, name in zip(heads, names.split(", "), strict=True))
        return exp.select(*columns).from_(exp.values(lines, alias="listed"))

    def codes(self, bound: FittedRelease) -> list[exp.Expression]:
        """Expressions for the code of each column of a row; NULL for an unseen value."""
        bins, inputs, codes = bound.layout.bins, bound.channel.inputs, []
        for name, level in zip(inputs.columns, inputs.levels, strict=True):
            edges = bins[name].edges[1:-1] if name in bins else None
            codes.append(self.look_up_code(name, level) if edges is None else self.interval(name, edges, len(level)))
        return codes

    def column(self, name: str) -> exp.Expression:
        """Column with the name of its table, because SQLite reads the name of an absent column alone as text."""
        return exp.column(name, "t", quoted=True)

    def interval(self, name: str, starts: Sequence[Any], missing: int) -> exp.Expression:
        """Expression for the number of ascending edges up to a value; floats are compared as doubles."""
        whole = all(isinstance(start, int) for start in starts)
        value = self.column(name) if whole else exp.cast(self.column(name), "double")
        case = self.missing(name, missing, is_number=True)
        for code, start in enumerate(starts):
            case = case.when(exp.LT(this=value.copy(), expression=literal(start)), literal(code))
        return case.else_(literal(len(starts)))

    def look_up_code(self, name: str, level: pa.Array) -> exp.Expression:
        """Expression for the code of a value, its position in a level, from a look-up table; NULL if it is absent."""
        dtype, value, table = level.type, self.column(name), f"{self.prefix}level_{len(self.joins)}"
        is_text, is_number = pa.types.is_string(dtype), is_numeric(dtype)
        refuse_type(name, is_fit=is_text or is_number or pa.types.is_boolean(dtype) or pa.types.is_null(dtype))
        lines: list[tuple[Any, Any]] = [(literal(entry), code) for code, entry in enumerate(level.to_pylist())]
        self.tables[table] = "value, code", lines or [(None, None)]
        value = exp.cast(value, "text") if is_text else value
        self.joins[table] = exp.EQ(this=value, expression=exp.column("value", table))
        return self.missing(name, len(level), is_number=is_number).else_(exp.column("code", table))

    def missing(self, name: str, code: int, *, is_number: bool) -> exp.Expression:
        """Start of a CASE expression with the code of missing values, including NaN, which SQLite stores as NULL."""
        none = exp.Is(this=self.column(name), expression=exp.null())
        if is_number and self.dialect != "sqlite":
            number = exp.cast(self.column(name), "double")
            none = exp.or_(none, exp.EQ(this=number, expression=exp.cast(exp.convert("NaN"), "double")))
        return exp.Case().when(none, literal(code))


def symbol_expression(bound: FittedRelease) -> tuple[str, list[tuple[Any, int]]]:
    """Expression that numbers public symbols from codes k0, k1, ..., and pairs of number and channel code."""
    inputs = bound.channel.inputs
    symbol, numbers = "CAST(0 AS BIGINT)", np.zeros(len(inputs), object)  # 64 bits must not overflow
    for i, level in enumerate(inputs.levels):
        size = len(level) + 1
        symbol, numbers = f"({symbol}) * {size} + k{i}", numbers * size + inputs.codes[:, i]
    return symbol, [(literal(int(number)), code) for code, number in enumerate(numbers)]


def literal(value: Any) -> exp.Expression:
    """Write a value in SQL; a double becomes an exact fraction with powers of 2, which all databases read alike.

    Raises
    ------
    InvalidParameter
        If the value is a number that does not fit 64 bits.
    """
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return exp.convert(value)
    if not abs(value) < 1 << 63:
        raise InvalidParameter(
            "the channel or its bins contain a number beyond 2**63, which SQL cannot store exactly; release from Python"
        )
    if isinstance(value, int):
        return exp.convert(value)
    numerator, denominator = value.as_integer_ratio()
    expression: exp.Expression = exp.cast(exp.convert(numerator), "double")
    while denominator > 1:
        power = min(denominator, 1 << 60)
        expression = exp.Div(this=expression, expression=exp.cast(exp.convert(power), "double"))
        denominator //= power
    return expression


def drawing(dialect: str, n_steps: int, prefix: str) -> dict[str, str]:
    """Return the queries from symbols and keys to released states, which contain internal names only."""
    text = render_template("engines/sql/drawing.sql.jinja", dialect=dialect, n_steps=n_steps, own=prefix)
    return dict(query.split(":\n", 1) for query in text.strip().split("\n\n"))
