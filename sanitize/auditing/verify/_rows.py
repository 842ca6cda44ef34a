"""Checks of released rows without a receipt: exact checks, a test of counts and a test of order.

These checks can refute a release but cannot prove it, because rows that were not drawn may have the same frequencies.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from sanitize._util.limits import KEPT_BYTES
from sanitize.auditing.verify._printed import PrintedSymbols, release_batches
from sanitize.auditing.verify._verification import Check
from sanitize.core.channel import Channel
from sanitize.release.random_order import log_cells
from sanitize.release.row_order import MOST_SYMBOLS, SymbolOrder
from sanitize.tables.keys import count, take_answers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TypeAlias

    from numpy.typing import NDArray

    from sanitize.core.joint import ContingencyTable
    from sanitize.release.first_pass import RowOrder
    from sanitize.release.release import FittedRelease
    from sanitize.tables.files.source import Source

    Codes: TypeAlias = "NDArray[np.signedinteger]"

# The tests of counts and of order share the false-alarm rate, so that both together keep it.
_TESTS = 2
# Codes of one or two bytes stay in the cache for this many rows.
_ROWS = 1 << 18


class _Kinds:
    """Kinds of symbols, from their frequencies: each frequent symbol is a kind, and all rare symbols are one kind."""

    def __init__(self, counts: NDArray[np.int64]) -> None:
        self.n = min(len(counts), MOST_SYMBOLS - 1) + 1
        self._kinds = np.full(len(counts) + 1, self.n - 1, np.uint8)  # the first entry is for the code -1
        frequent = np.argsort(-counts, kind="stable")[: MOST_SYMBOLS - 1]
        self._kinds[frequent + 1] = np.arange(len(frequent))

    def row_kinds(self, codes: Codes) -> NDArray[np.uint8]:
        """Return the kind of each row's symbol."""
        return take_answers(self._kinds, codes + 1)


class OrderTally:
    """Counts for the test of order: positions of symbols in a file, and pairs of released and original symbols.

    All but the most frequent symbols are merged.

    Parameters
    ----------
    n : int
        Number of rows of the release.
    y_counts : ndarray of int64, shape (n_y,)
        Number of times that each symbol was released.
    source_counts : sequence of ndarray of int64
        Number of times that each symbol occurs in the codes of the source's rows, of whose order a shuffled release is
        independent.
    """

    def __init__(self, n: int, y_counts: NDArray[np.int64], source_counts: Sequence[NDArray[np.int64]]) -> None:
        self._order, self._row = SymbolOrder(n), 0
        self._printed, *self._sources = (_Kinds(counts) for counts in (y_counts, *source_counts))
        self._tables = [np.zeros((kinds.n, self._printed.n), np.int64) for kinds in self._sources]

    def add(self, y: Codes, source_codes: Sequence[Codes]) -> None:
        """Count the next rows: released symbols (-1 if the channel has none), and codes of the original rows."""
        for start in range(0, len(y), _ROWS):
            piece = slice(start, start + _ROWS)
            kinds = self._printed.row_kinds(y[piece])
            self._order.add(self._row, kinds, np.arange(self._printed.n))
            self._row += len(kinds)
            for table, source_kinds, codes in zip(self._tables, self._sources, source_codes, strict=True):
                cells = source_kinds.row_kinds(codes[piece]).astype(np.uint16)  # pairs of kinds fit in 16 bits
                cells *= np.uint16(self._printed.n)
                cells += kinds
                table += count(cells, table.size).reshape(table.shape)

    def strongest_sign(self, false_alarm: float) -> tuple[float, str]:
        """Return the log chance and description of the clearest sign that rows were not shuffled; (0, "") if none."""
        rate = math.log(false_alarm / (1 + len(self._tables)))
        findings = self._order.findings(rate)
        signs = [(found.log_chance, f"symbols reveal their places {found.where}") for found in findings]
        for table in self._tables:
            log_chance = float(log_cells(table).min(initial=0.0)) + math.log(table.size)
            if log_chance < rate:
                signs.append((log_chance, "rows have the places of their rows in the raw table"))
        return min(signs, default=(0.0, ""))


def check_rows(
    source: Source,
    released: Source,
    release: FittedRelease,
    counts: ContingencyTable,
    rows: RowOrder,
    false_alarm: float,
) -> list[Check]:
    """Check that the rows of a release can come from its channel, and test their counts and order.

    Parameters
    ----------
    source, released : Source
    release : FittedRelease
        Release, designed again from the source.
    counts : ContingencyTable
        Counts of the source.
    rows : {"shuffle", "keep"}
    false_alarm : float
        Largest chance that an honest release fails any of the checks.
    """
    reader, channel = PrintedSymbols(release), release.channel
    blocks = read_once(lambda: map(reader.codes, release_batches(source, released, release)), channel.n_outputs)
    y_counts, unknown = np.zeros(channel.n_outputs, np.int64), 0
    for y in blocks():
        of_code = count(y + 1, len(y_counts) + 1)  # the first count is for the code -1
        y_counts += of_code[1:]
        unknown += int(of_code[0])
    of_x = channel.inputs.encode(counts.public.decode(np.arange(len(counts.public))))
    x_counts = np.zeros(channel.n_inputs, np.int64)
    np.add.at(x_counts, np.where(of_x < 0, release.fallback, of_x), counts.seen.sum(axis=0))
    s_counts = counts.seen.sum(axis=1)
    groups = communicating_groups(channel, x_counts > 0)
    left, order = 0, OrderTally(int(y_counts.sum()) + unknown, y_counts, [s_counts, x_counts])
    names = list(dict.fromkeys((*release.layout.sensitive, *release.layout.read)))
    batches = (batch for file in source.files for batch in source.batches(file, names))
    raw = ((counts.sensitive.encode(release.layout.columns(batch)), release.encode(batch)[0]) for batch in batches)
    for s, x, y in align_blocks(raw, ((y,) for y in blocks())):
        left += int((groups[0][x] != groups[1][y])[y >= 0].sum()) if rows == "keep" else 0
        order.add(y, [s, x])
    if reader.doubtful:  # a released number may belong to either of two bins, so the counts of symbols are unknown
        checks = [Check("possible", not unknown, _unknown(unknown) or "all symbols are possible")]
    else:
        checks = [_possible(groups, x_counts, y_counts, unknown, left)]
        mean = channel.push(x_counts[None].astype(np.float64))[0]
        # Draws of one symbol have several probabilities. Equal ones would have the largest variance, so that the bound
        # holds for all.
        most = mean - np.square(mean) / max(float(x_counts.sum()), 1.0)
        log_chance = float(log_bennett(y_counts - mean, most).min()) + math.log(len(mean))
        good, bad = "as frequent as draws make them", "not as frequent as the channel makes them"
        checks.append(_by_chance("counts", log_chance, f"symbols are {good}", f"symbols are {bad}", false_alarm))
    if rows == "keep":
        return [*checks, Check.success("order", "rows keep their order, which the design measures")]
    log_chance, how = order.strongest_sign(false_alarm / _TESTS)
    return [*checks, _by_chance("order", log_chance, "of rows shows nothing", f"not shuffled: {how}", false_alarm)]


def _by_chance(name: str, log_chance: float, good: str, bad: str, false_alarm: float) -> Check:
    ok = log_chance >= math.log(false_alarm / _TESTS)
    figure = f"10^{log_chance / math.log(10):.1f}" if log_chance > -1e6 else "nothing"
    return Check(name, ok, good if ok else f"{bad} (chance at most {figure})")


def _possible(
    groups: tuple[NDArray[np.int64], NDArray[np.int64]],
    x_counts: NDArray[np.int64],
    y_counts: NDArray[np.int64],
    unknown: int,
    left: int,
) -> Check:
    """Check that original rows can lead to all released symbols, and that rows stay in their groups of symbols."""
    inputs, outputs = groups
    unreached = int(y_counts[outputs < 0].sum())
    n_groups = int(max(inputs.max(), outputs.max())) + 1
    rows_in = np.bincount(inputs, weights=x_counts, minlength=n_groups)
    rows_out = np.bincount(outputs[outputs >= 0], weights=y_counts[outputs >= 0], minlength=n_groups)
    wrong = int((rows_in != rows_out).sum()) if not unknown else 0
    n_used = len(np.unique(inputs[x_counts > 0]))
    faults = [
        _unknown(unknown),
        f"{unreached} rows hold a symbol that no row of the source leads to" if unreached else "",
        f"{left} rows hold a symbol that their own row of the source cannot lead to" if left else "",
        f"{wrong} of {n_used} groups of symbols that no row leaves gained or lost rows" if wrong else "",
    ]
    fault = "; ".join(filter(None, faults))
    return Check("possible", not fault, fault or f"all symbols are possible, {n_used} groups keep rows")


def _unknown(rows: int) -> str:
    return f"{rows} rows hold a symbol that the channel never writes" if rows else ""


def align_blocks(*streams: Iterator[tuple[Codes, ...]]) -> Iterator[Any]:
    """Yield blocks of the same rows from several streams; stop at the end of the shortest."""
    pending: list[tuple[Codes, ...]] = [() for _ in streams]
    while True:
        for k, stream in enumerate(streams):
            while not pending[k] or not len(pending[k][0]):
                block = next(stream, None)
                if block is None:
                    return
                pending[k] = block
        n = min(len(block[0]) for block in pending)
        yield tuple(part[:n] for block in pending for part in block)
        pending = [tuple(part[n:] for part in block) for block in pending]


def read_once(read: Callable[[], Iterator[Codes]], n_codes: int) -> Callable[[], Iterator[Codes]]:
    """Return a reader of blocks of codes, -1 included, that caches the blocks if they are small enough."""
    dtype = np.min_scalar_type(-n_codes - 1)
    cached: list[Codes] | None = None

    def blocks() -> Iterator[Codes]:
        nonlocal cached
        if cached is not None:
            yield from cached
            return
        buffer: list[Codes] = []
        room = KEPT_BYTES
        for block in read():
            narrow = block.astype(dtype, copy=False)
            room -= narrow.nbytes
            if room >= 0:
                buffer.append(narrow)
            else:
                buffer.clear()
            yield narrow
        if room >= 0:
            cached = buffer

    return blocks


def log_bennett(deviation: NDArray[Any] | float, variance: NDArray[Any] | float) -> NDArray[np.float64]:
    """Logarithm of Bennett's bound on both tails of a sum of independent terms with mean 0 and size at most 1."""
    t = np.maximum(np.abs(np.asarray(deviation, np.float64)) - 1e-6, 0)  # allowance for rounding
    v = np.maximum(np.asarray(variance, np.float64), 1e-12)
    u = t / v
    return np.minimum(0.0, math.log(2) - v * ((1 + u) * np.log1p(u) - u))


def communicating_groups(channel: Channel, present: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Number the groups of symbols that no row can leave; return the group of each input and each output.

    An output that no occurring input can reach has the group -1.
    """
    sizes = [channel.n_inputs, *(stage.n_outputs for stage in channel.stages)]
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    reached = np.asarray(present, bool)
    tails, heads = [], []
    for depth, stage in enumerate(channel.stages):
        matrix = stage.probabilities.tocoo()
        possible = reached[matrix.row] & (matrix.data > 0)
        tails.append(matrix.row[possible] + offsets[depth])
        heads.append(matrix.col[possible] + offsets[depth + 1])
        reached = np.zeros(stage.n_outputs, bool)
        reached[matrix.col[possible]] = True
    tail, head = np.concatenate(tails), np.concatenate(heads)
    graph = sparse.coo_array((np.ones(len(tail), np.int8), (tail, head)), shape=(offsets[-1], offsets[-1]))
    groups = connected_components(graph, directed=False)[1].astype(np.int64)
    outputs = groups[offsets[-2] :]
    return groups[: channel.n_inputs], np.where(reached, outputs, -1)
