"""Release of a table by unit: units of the rows, sensitive values, draws that stay the same, and released symbols."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from sanitize._util.checks import Codes, Vector
from sanitize.core.channel import ReducedChannel
from sanitize.core.measures import entropy, share_of_entropy
from sanitize.errors import ColumnError, LedgerError
from sanitize.over_time._groups import Counting, Sources
from sanitize.over_time._unit_book import DIGEST_BYTES, SAMPLE, PairWords, text_digests
from sanitize.over_time._unit_certificate import ABSENT, Certificate, is_design_unit
from sanitize.over_time._unit_report import UnitEntry, log_extremes
from sanitize.tables.columns import as_arrow, factorize, python_values

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from sanitize._util.sampling.noise import RandomWords
    from sanitize.core.alphabet import Alphabet
    from sanitize.core.channel import Channel
    from sanitize.over_time._unit_book import UnitBook
    from sanitize.release.release import FittedRelease
    from sanitize.tables.frame import Table

# Lane of the random source that chooses the unit whose symbol is released. It lies above those for writing values, so
# that no random word is used twice.
_BLOCK_LANE = 1 << 21


def release_rows(
    book: UnitBook, release: FittedRelease, table: Mapping[str, Any], random_words: RandomWords
) -> tuple[UnitBook, NDArray[np.int32]]:
    """Return the book with one more release, and the released symbol of each row of a table, -1 if withheld.

    A row is drawn through the channel with the lasting random word of its unit and value. Several rows of a unit are
    released one after another, even equal ones, because their equality would reveal something, too. Rows
    beyond the number of rows that at least ``min_units`` units have are withheld.

    Raises
    ------
    ColumnError
        If a column is absent, the unit is missing in some rows, or the unit column is public or sensitive.
    LedgerError
        If a unit has several sensitive values, or one that the first release did not have, or no row may be released.
    """
    book, unit, n_new = _identify_units(book, release, table)
    codes, channel = release.encode(table)[0], release.channel
    symbols = _lasting_draws(book, channel, unit, codes)
    book, value, symbol = _number_values(book, channel.outputs)
    source_symbols = ReducedChannel.source_symbols(channel)
    released = np.full(len(symbols), -1, np.int32)
    rows, n_again = np.zeros((len(book.secrets), channel.n_outputs)), 0
    for turn, places in enumerate(_turns(unit)):
        if len(places) < book.least:
            break
        units, drawn, earlier_symbols = unit[places], symbols[places], symbol[book.said]
        blocks, error_shares = _partition_groups(book, units, source_symbols, drawn, earlier_symbols)
        sources = Sources.from_blocks(book.group[units], blocks, drawn, earlier_symbols)
        released[places] = sources.draw(random_words.words_at(_BLOCK_LANE + turn, np.arange(len(places))))
        rows += sources.rows(book.secret[units], rows.shape)
        n_again += int(((blocks == 0) & (released[places] >= 0)).sum())
        book = _record_turn(book, units, blocks, value[released[places]], error_shares)
    shown = released >= 0
    if not shown.any():
        words = "with the same earlier releases; give more units, or begin a ledger with a smaller min_units"
        raise LedgerError(f"no row can be released: each released value needs {book.least} or more units {words}")
    distribution = rows[rows.any(axis=1)][:, rows.any(axis=0)] / rows.sum()
    lifts = distribution / distribution.sum(axis=0) / distribution.sum(axis=1, keepdims=True)
    counts = int(shown.sum()), int((~shown).sum()), n_again, len(np.unique(unit)), n_new
    column_shares = _column_shares(channel, codes[shown], released[shown])
    entry = UnitEntry(*counts, column_shares, *log_extremes(lifts), book.room())
    return book.with_release(entry), released


def _number_values(book: UnitBook, outputs: Alphabet) -> tuple[UnitBook, Codes, Codes]:
    """Return the book with the values that can be released, each symbol's value number, and each value number's symbol.

    Both maps end with -1, so that the index -1 stands for no value in either.
    """
    digests = text_digests(book.key, [f"printed:{text}" for text in _symbols(outputs)])
    value = digest_numbers(book.values, digests)
    new = np.flatnonzero(value < 0)
    value[new] = len(book.values) + np.arange(len(new))
    book = book.__replace__(values=np.concatenate([book.values, digests[new]]))
    symbol = np.full(len(book.values) + 1, -1)
    symbol[value] = np.arange(len(outputs))
    return book, np.append(value, -1), symbol


def _partition_groups(
    book: UnitBook, units: Codes, source_symbols: Codes, drawn: NDArray[np.int32], earlier_symbols: Codes
) -> tuple[Codes, Vector]:
    """Return the block of each unit, 0 if nothing new is released, and the part of each group's error share left."""
    counting, is_first = Counting(book.sizes[0], book.budget, book.least), len(book.sizes) == 1
    proof = book.confidence and Certificate.from_counts(counting, book.chosen, book.budget, book.confidence)
    sizes = np.bincount(book.group, minlength=len(book.sizes))
    sizes[0] += 1  # for units that are new in later releases
    printed_sources = np.where(earlier_symbols >= 0, source_symbols[earlier_symbols], -1)
    secret, symbol, group = book.secret[units], source_symbols[drawn], book.group[units]
    chooses, order = is_design_unit(book.units[units]), np.argsort(group, kind="stable")
    blocks, error_shares = np.zeros(len(units), np.intp), np.ones(len(book.sizes))
    for members in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
        number, of_members = int(group[members[0]]), (secret[members], symbol[members])
        # If all symbols were released before, a single block would only separate present units from absent ones.
        is_known = bool(np.isin(symbol[members], printed_sources[number]).all())
        is_stale = is_known and len(members) < sizes[number]
        if proof:
            of_units, divide = (chooses[members], float(book.shares[number])), partial(proof.divide, is_first=is_first)
            blocks[members], error_shares[number] = divide(*of_members, *of_units, is_stale=is_stale)
        else:
            blocks[members] = counting.divide(*of_members, is_stale=is_stale)
    return blocks, error_shares


def _record_turn(book: UnitBook, units: Codes, blocks: Codes, printed: Codes, error_shares: Vector) -> UnitBook:
    """Return the book after one more value of some units was released; a block that is a whole group stays a group.

    ``error_shares`` has the part of its error share that each group keeps. Of the rest, each new group gets a part in
    proportion to its design units, and absent units keep a part.
    """
    samples, shares = book.said, book.shares * error_shares
    if not book.releases and len(book.sizes) == 1:
        samples = _sample(printed)[None, :]  # for units that come later
    served = np.flatnonzero(blocks)
    if not len(served):
        return book.__replace__(said=samples, shares=shares)
    width, n_old, served_units = int(blocks.max()) + 1, len(book.sizes), units[served]
    keys = book.group[served_units] * width + blocks[served]
    pairs, pair_places, n_units = np.unique(keys, return_inverse=True, return_counts=True)
    old = pairs // width
    is_new = (n_units < np.bincount(book.group)[old]) | (pairs < width)
    number, n_new = np.where(is_new, n_old - 1 + np.cumsum(is_new), old), int(is_new.sum())
    sizes = np.concatenate([book.sizes, np.zeros((n_new, len(book.secrets)), np.int64)])
    sizes[number] = 0
    np.add.at(sizes, (number[pair_places], book.secret[served_units]), 1)
    samples = np.concatenate([samples, np.full((n_new, SAMPLE), -1)])
    order = np.argsort(pair_places, kind="stable")
    for new_group, members in zip(number, np.split(order, np.cumsum(n_units)[:-1]), strict=True):
        samples[new_group] = _sample(printed[served[members]])
    group = book.group.copy()
    group[served_units] = number[pair_places]
    n_choosing = np.bincount(pair_places, is_design_unit(book.units[served_units]))
    part = n_choosing / np.maximum(np.bincount(old, n_choosing)[old], 1)
    new_shares = (shares[old] * part)[is_new]
    shares[old[is_new]] = book.shares[old[is_new]] * ABSENT
    return book.__replace__(group=group, sizes=sizes, said=samples, shares=np.concatenate([shares, new_shares]))


def _sample(printed: Codes) -> Codes:
    """Return a sample of the released values, which are in random order."""
    return printed[np.arange(SAMPLE) * len(printed) // SAMPLE]


def _identify_units(book: UnitBook, release: FittedRelease, table: Mapping[str, Any]) -> tuple[UnitBook, Codes, int]:
    """Return the book with a table's units added, the position of each row's unit, and the number of new units."""
    layout = release.layout
    if set(layout.sensitive) == set(layout.read):
        raise LedgerError("a release by unit needs sensitive columns; name them in the sanitizer")
    if book.unit in (*layout.sensitive, *layout.read):
        words = "must be neither sensitive nor public; name another column"
        raise ColumnError(f"the unit column {book.unit!r} {words}", book.unit)
    if book.sensitive and set(book.sensitive) != set(layout.sensitive):
        raise LedgerError("the ledger is about other sensitive columns; keep one ledger for each set of them")
    columns = layout.columns(table)
    names = tuple(sorted(layout.sensitive))
    unit_texts, unit = row_texts(table, [book.unit])
    if json.dumps([None]) in unit_texts:
        raise ColumnError.fault(book.unit, "has missing values, and every row needs a unit; leave these rows out")
    secret_texts, secret = row_texts(columns, names)
    if not len(unit):
        raise ColumnError("the table has no rows, so there is nothing to release")
    distinct_units, first = np.unique(unit, return_index=True)
    mixed = len(np.unique(unit * np.int64(len(secret_texts)) + secret)) - len(distinct_units)
    digests = unit_digests(book, unit_texts)
    unit_places = digest_numbers(book.units, digests)
    unit_secrets, secrets = _secrets(book, secret_texts, secret[first])
    is_known = unit_places >= 0
    mixed += int((book.secret[unit_places[is_known]] != unit_secrets[is_known]).sum())
    if mixed:
        words = f"in this table or in earlier ones ({mixed} times); give each unit one value in all tables"
        raise LedgerError(f"a unit has several sensitive values, {words}")
    if not book.releases:
        groups = unit_secrets, unit_secrets[is_design_unit(digests)]
        sizes, chosen = (np.bincount(group, minlength=len(secrets)) for group in groups)
        book = book.__replace__(sensitive=names, secrets=secrets, sizes=sizes[None, :], chosen=chosen)
    unit_places[~is_known] = len(book.units) + np.arange(int((~is_known).sum()))
    return book.with_units(digests[~is_known], unit_secrets[~is_known]), unit_places[unit], int((~is_known).sum())


def _secrets(book: UnitBook, texts: Sequence[str], secret: Codes) -> tuple[Codes, NDArray[np.uint8]]:
    """Return each unit's sensitive value as a number in the book, and the digests of all sensitive values."""
    digests = text_digests(book.key, [f"secret:{text}" for text in texts])
    if not book.releases:
        return secret, digests
    of_text = digest_numbers(book.secrets, digests)
    strange = int((of_text[secret] < 0).sum())
    if strange:
        words = "had; replace it with a value of the first release, or begin a new ledger"
        raise LedgerError(f"{strange} units have a sensitive value that no unit of the first release {words}")
    return of_text[secret], book.secrets


def design_unit_rows(book: UnitBook, table: Table) -> Table:
    """Return the rows of the design units, which choose the groups; refuse a table without such units."""
    texts, unit = row_texts(table, [book.unit])
    chosen = np.flatnonzero(is_design_unit(unit_digests(book, texts))[unit])
    if not len(chosen):
        words = "units are too few; give more units, or begin a ledger without confidence"
        raise LedgerError(f"with confidence, a fifth of the units designs the release, and {len(texts)} {words}")
    return table.take(chosen)


def unit_digests(book: UnitBook, texts: Sequence[str]) -> NDArray[np.uint8]:
    """Keyed digests of units from their texts, shape (n, 16)."""
    return text_digests(book.key, [f"unit:{text}" for text in texts])


def digest_numbers(book_digests: NDArray[np.uint8], digests: NDArray[np.uint8]) -> Codes:
    """Position of each digest among the digests of the book; -1 if absent."""
    number = {bytes(row): place for place, row in enumerate(book_digests)}
    return np.array([number.get(bytes(row), -1) for row in digests], np.intp)


def row_texts(table: Mapping[str, Any], names: Sequence[str]) -> tuple[list[str], Codes]:
    """Return the distinct rows of some columns as texts, equal for equal values of any type, and each row's text."""
    levels, codes = [], []
    for name in names:
        values, column_codes = factorize(as_arrow(table[name], name), name)
        levels.append(_plain(python_values(values, name)))
        codes.append(column_codes)
    rows, number = np.unique(np.stack(codes, axis=1), axis=0, return_inverse=True)
    return _rows_as_texts(levels, rows), number.reshape(-1)


def _plain(values: Sequence[Any]) -> list[str | None]:
    """Convert values to texts, which are the same for numbers and their digits; a last None is for missing values."""
    whole = (int(value) if isinstance(value, float) and value.is_integer() else value for value in values)
    return [*map(str, whole), None]


def _rows_as_texts(levels: Sequence[list[str | None]], rows: NDArray[np.int32]) -> list[str]:
    """Convert rows of codes to texts of their values; different rows have different texts."""
    return [json.dumps([level[code] for level, code in zip(levels, row, strict=True)]) for row in rows]


def _lasting_draws(book: UnitBook, channel: Channel, unit: Codes, codes: NDArray[np.int32]) -> NDArray[np.int32]:
    """Draw the output of the channel for each row, always the same for the same unit and value."""
    pairs, pair = np.unique(unit * np.int64(channel.n_inputs) + codes, return_inverse=True)
    of_unit, x = np.divmod(pairs, channel.n_inputs)
    used, value = np.unique(x, return_inverse=True)
    values = text_digests(book.key, [f"value:{text}" for text in _symbols(channel.inputs.take(used))])
    words = PairWords(book.key, book.units[of_unit].reshape(-1, DIGEST_BYTES), values, value)
    return np.asarray(channel.sample(x, words)[pair])


def _symbols(alphabet: Alphabet) -> list[str]:
    pairs = zip(alphabet.columns, alphabet.levels, strict=True)
    return _rows_as_texts([_plain(python_values(level, name)) for name, level in pairs], alphabet.codes)


def _turns(unit: Codes) -> list[Codes]:
    """List the first rows of all units, then the second rows of all units that have one, and so on."""
    order = np.argsort(unit, kind="stable")
    starts = np.r_[True, np.diff(unit[order]) != 0]
    turn = np.arange(len(unit)) - np.flatnonzero(starts)[np.cumsum(starts) - 1]
    by_turn = np.argsort(turn, kind="stable")
    return np.split(order[by_turn], np.cumsum(np.bincount(turn))[:-1])


def _column_shares(channel: Channel, codes: NDArray[np.int32], released: NDArray[np.int32]) -> dict[str, float]:
    """Share I(X_j;Y)/H(X_j) of each column among rows, minus its expectation by chance [Miller-Madow]."""
    shares = {}
    for name, of_symbol in zip(channel.inputs.columns, channel.inputs.codes.T, strict=True):
        x = of_symbol[codes]
        cells, counts = np.unique(x * np.int64(channel.n_outputs) + released, return_counts=True)
        p_x, p_y = np.bincount(x) / len(x), np.bincount(released) / len(x)
        by_chance = (len(cells) - np.count_nonzero(p_x) - np.count_nonzero(p_y) + 1) / (2 * len(x))
        shared = entropy(p_x) + entropy(p_y) - entropy(counts / len(x)) - by_chance
        shares[name] = share_of_entropy(shared, p_x)
    return shares
