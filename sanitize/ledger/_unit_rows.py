"""Rows of a table as units, secrets and kept symbols, and what each of them is released as."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from sanitize._sampling.kept_draws import DIGEST_BYTES, PairWords, keyed_digests
from sanitize._tables.columns import as_arrow, factorize, python_values
from sanitize.channel import ReducedChannel
from sanitize.errors import ColumnError, LedgerError
from sanitize.ledger._groups import blocks_of, released_as
from sanitize.ledger._unit_report import UnitEntry
from sanitize.measures import entropy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from sanitize._release.release import Release
    from sanitize._sampling.noise import RandomWords
    from sanitize.alphabet import Alphabet
    from sanitize.channel import Channel
    from sanitize.ledger._unit_book import UnitBook

# Lane of the random source above all that print: whose symbol a unit is released as.
_BLOCK_LANE = 1 << 21


def released_rows(
    book: UnitBook, release: Release, table: Mapping[str, Any], words: RandomWords
) -> tuple[UnitBook, NDArray[np.int32]]:
    """The book with one more release, and the released symbol of each row of a table.

    A row is drawn through the channel of the release as its unit is always drawn for that value. Several rows of a unit
    are told one after another. Equal ones are no exception: that they are equal would tell something, too.

    Raises
    ------
    ColumnError
        If a column is absent, the unit is missing in some rows, or it is released or sensitive itself.
    LedgerError
        If a unit has several secrets, or one that the first release had not.
    """
    book, unit, n_new = _with_rows(book, release, table)
    codes, _ = release.encode(table)
    channel = release.design.channel
    y = _kept_draws(book, channel, unit, codes)
    told = ReducedChannel.before_printing(channel)
    released = np.empty(len(y), np.int32)
    rows = sparse.csr_array((len(book.secrets), channel.n_outputs))
    for turn, now in enumerate(_turns(unit)):
        book, own = _told(book, unit[now], told[y[now]])
        whose = released_as(*own, words.words_at(_BLOCK_LANE + turn, np.arange(len(now))))
        released[now] = y[now[whose]]
        rows = rows + _printed(*own, book.secret[unit[now]], y[now], rows.shape)
    entry = UnitEntry(
        len(codes), len(np.unique(unit)), n_new, _kept(channel, codes, released), *_log_lifts(rows), book.room()
    )
    return replace(book, releases=(*book.releases, entry)), released


def _printed(
    group: NDArray[np.intp],
    block: NDArray[np.intp],
    secret: NDArray[np.intp],
    y: NDArray[np.int32],
    shape: tuple[int, int],
) -> sparse.csr_array:
    """Rows of each secret that are printed as each symbol, in the mean over who is drawn from each block."""
    _, number = np.unique(group * (int(block.max()) + 1) + block, return_inverse=True)
    size = np.bincount(number)
    members = sparse.csr_array((np.ones(len(y)), (secret, number)), shape=(shape[0], len(size)))
    prints = sparse.csr_array((1 / size[number], (number, y)), shape=(len(size), shape[1]))
    return sparse.csr_array(members @ prints)


def _log_lifts(rows: sparse.csr_array) -> tuple[float, float]:
    """The least and the largest log-lift of a symbol, held against the shares of the rows."""
    law = rows.toarray()
    there, seen = law.any(axis=1), law.any(axis=0)
    law = law[there][:, seen] / law.sum()
    with np.errstate(divide="ignore"):
        lifts = np.log(law / law.sum(axis=0) / law.sum(axis=1, keepdims=True))
    return float(lifts.min()), float(lifts.max())


def _told(
    book: UnitBook, unit: NDArray[np.intp], symbol: NDArray[np.intp]
) -> tuple[UnitBook, tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """The book after some units are told a symbol each, and the group and block that each is told."""
    group, secret = book.group[unit], book.secret[unit]
    block = blocks_of(group, secret, symbol, book.sizes[0], book.budget, book.least)
    split = np.flatnonzero(block)
    if not len(split):
        return book, (group, block)
    width = int(block.max()) + 1
    _, made = np.unique(group[split] * width + block[split], return_inverse=True)
    sizes = np.zeros((int(made.max()) + 1, len(book.secrets)), np.int64)
    np.add.at(sizes, (made, secret[split]), 1)
    after = book.group.copy()
    after[unit[split]] = len(book.sizes) + made
    return replace(book, group=after, sizes=np.concatenate([book.sizes, sizes])), (group, block)


def _with_rows(book: UnitBook, release: Release, table: Mapping[str, Any]) -> tuple[UnitBook, NDArray[np.intp], int]:
    """The book with the units of a table, the number of each row's unit in it, and how many of them are new."""
    layout = release.layout
    if set(layout.sensitive) == set(layout.read):
        raise LedgerError("what is told of a unit needs a secret; name the sensitive columns of the sanitizer")
    if book.unit in (*layout.sensitive, *layout.read):
        raise ColumnError(
            f"the unit column {book.unit!r} must be neither sensitive nor public; name another", book.unit
        )
    if book.sensitive and set(book.sensitive) != set(layout.sensitive):
        raise LedgerError("the ledger is about other sensitive columns; keep one ledger for each set")
    columns = layout.columns(table)
    names = tuple(sorted(layout.sensitive))
    unit_texts, unit = texts_of(table, [book.unit])
    if json.dumps([None]) in unit_texts:
        raise ColumnError(f"column {book.unit!r} has missing values, and every row must say whose it is", book.unit)
    secret_texts, secret = texts_of(columns, names)
    if not len(unit):
        raise ColumnError("the table has no rows, so there is nothing to release")
    held, first = np.unique(unit, return_index=True)
    mixed = len(np.unique(unit * np.int64(len(secret_texts)) + secret)) - len(held)
    digests = keyed_units(book, unit_texts)
    found = numbers_of(book.units, digests)
    own, secrets = _secrets(book, secret_texts, secret[first])
    there = found >= 0
    mixed += int((book.secret[found[there]] != own[there]).sum())
    if mixed:
        raise LedgerError(
            f"the sensitive columns have several values for one unit {mixed} times, here or in an earlier release; "
            "give every row of a unit one secret, for example whether it ever had the diagnosis"
        )
    if not book.releases:
        sizes = np.bincount(own, minlength=len(secrets))[None, :]
        book = replace(book, sensitive=names, secrets=secrets, sizes=sizes)
    found[~there] = len(book.units) + np.arange(int((~there).sum()))
    return book.with_units(digests[~there], own[~there]), found[unit], int((~there).sum())


def _secrets(
    book: UnitBook, texts: Sequence[str], secret: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.uint8]]:
    """Number of each unit's secret in the book, and the digests of all secrets; those of the first release make it."""
    digests = keyed_digests(book.key, [f"secret:{text}" for text in texts])
    if not book.releases:
        return secret, digests
    of_text = numbers_of(book.secrets, digests)
    strange = int((of_text[secret] < 0).sum())
    if strange:
        raise LedgerError(
            f"{strange} units have a value of the sensitive columns that no unit of the first release had, so there is "
            "no share to hold it against; pool it with another value, or begin a new ledger"
        )
    return of_text[secret], book.secrets


def keyed_units(book: UnitBook, texts: Sequence[str]) -> NDArray[np.uint8]:
    """Digests of units by their texts, shape (n, 16)."""
    return keyed_digests(book.key, [f"unit:{text}" for text in texts])


def numbers_of(known: NDArray[np.uint8], digests: NDArray[np.uint8]) -> NDArray[np.intp]:
    """Number of each digest among those known, -1 where it is not."""
    number = {bytes(row): place for place, row in enumerate(known)}
    return np.array([number.get(bytes(row), -1) for row in digests], np.intp)


def texts_of(table: Mapping[str, Any], names: Sequence[str]) -> tuple[list[str], NDArray[np.intp]]:
    """Distinct rows of some columns as texts, equal ones for equal values of any type; and the number of each row's."""
    levels, codes = [], []
    for name in names:
        values, own = factorize(as_arrow(table[name], name), name)
        levels.append(_plain(python_values(values, name)))
        codes.append(own)
    rows, number = np.unique(np.stack(codes, axis=1), axis=0, return_inverse=True)
    return _rows_as_texts(levels, rows), number.reshape(-1)


def _plain(values: Sequence[Any]) -> list[str | None]:
    """Values as texts, the same whether a column holds numbers or their digits; last what stands for a missing one."""
    whole = (int(value) if isinstance(value, float) and value.is_integer() else value for value in values)
    return [*map(str, whole), None]


def _rows_as_texts(levels: Sequence[list[str | None]], rows: NDArray[np.int32]) -> list[str]:
    """Rows of codes as texts, no two of which are the same for different rows."""
    return [json.dumps([level[code] for level, code in zip(levels, row, strict=True)]) for row in rows]


def _kept_draws(
    book: UnitBook, channel: Channel, unit: NDArray[np.intp], codes: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Output of the channel for each row, the same for all rows of a unit and value, now and later."""
    pairs, pair = np.unique(unit * np.int64(channel.n_inputs) + codes, return_inverse=True)
    of_unit, x = np.divmod(pairs, channel.n_inputs)
    used, value = np.unique(x, return_inverse=True)
    values = keyed_digests(book.key, [f"value:{text}" for text in _symbols(channel.inputs.take(used))])
    words = PairWords(book.key, book.units[of_unit].reshape(-1, DIGEST_BYTES), values, value)
    drawn = channel.sample(x, words)
    return np.asarray(drawn[pair])


def _symbols(alphabet: Alphabet) -> list[str]:
    pairs = zip(alphabet.columns, alphabet.levels, strict=True)
    return _rows_as_texts([_plain(python_values(level, name)) for name, level in pairs], alphabet.codes)


def _turns(unit: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """The first row of each unit, then the second of those that have one, and so on."""
    order = np.argsort(unit, kind="stable")
    starts = np.r_[True, np.diff(unit[order]) != 0]
    turn = np.arange(len(unit)) - np.flatnonzero(starts)[np.cumsum(starts) - 1]
    by_turn = np.argsort(turn, kind="stable")
    return np.split(order[by_turn], np.cumsum(np.bincount(turn))[:-1])


def _kept(channel: Channel, codes: NDArray[np.int32], released: NDArray[np.int32]) -> dict[str, float]:
    """I(X_j;Y)/H(X_j) of each column among rows, less what chance adds to it in the mean [Miller-Madow]."""
    found = {}
    for name, of_symbol in zip(channel.inputs.columns, channel.inputs.codes.T, strict=True):
        x = of_symbol[codes]
        cells, counts = np.unique(x * np.int64(channel.n_outputs) + released, return_counts=True)
        p_x, p_y = np.bincount(x) / len(x), np.bincount(released) / len(x)
        own = entropy(p_x)
        by_chance = (len(cells) - np.count_nonzero(p_x) - np.count_nonzero(p_y) + 1) / (2 * len(x))
        shared = own + entropy(p_y) - entropy(counts / len(x)) - by_chance
        found[name] = float(min(max(shared / own, 0.0), 1.0)) if own > 0 else 1.0
    return found
