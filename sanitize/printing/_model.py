"""Rows of public columns printed by a model of all of them, given the drawn cell: nobody's, and like theirs."""

from __future__ import annotations

from functools import cached_property
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sanitize._checks import Codes, Mask
from sanitize._files.declared import Count, Declared, require
from sanitize._files.system import in_turn
from sanitize._limits import BLOCK_ROWS
from sanitize.classes import MODELLED_ROWS
from sanitize.printing._dependence import forbidden, information, joint_counts, of_kinds, pair_counts, spanning_tree
from sanitize.printing._edges import PRINT_LANE, WHOLE, chances, drawn_states, high_half, in_whole_numbers, shares
from sanitize.printing._evidence import Evidence, messages, weighted
from sanitize.printing._nodes import Values, determined, nodes_of
from sanitize.printing._values import PrintedColumn
from sanitize.trees import GROUPS, LEAST_ROWS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sanitize._sampling.noise import RandomWords
    from sanitize.trees import Tree

# Lanes of the random source: of each node, of each column, and of each further draw of a row.
_NODE_LANE, _VALUE_LANE, _ROUND_LANES = PRINT_LANE, 2 * PRINT_LANE, 8 * PRINT_LANE
_MOST_TOLD = 0.7
# Rows from which there are kinds, and what is printed for a region is made like it: of fewer it would tell too much.
KINDS_ROWS = 10_000
# Price of an entry of a pair, in 1/(2n) nats: fine pairs serve adversaries more than analysts. At 4 who compares 2,000
# printed rows with others tells their people with an AUC up to 0.04 higher, and analysts have 0.002 more. Where nothing
# is said of who is in the table analysts come first: at 16 they would have 0.05 less of 700 rows.
_PRICE, _PRICE_OF_FEW = 16.0, 4.0
_KEYS = 1 << 12  # pairs of cell and state whose distributions are made together


class ModelNode(Declared, frozen=True, eq=False):
    """One node: what its states are printed as, and how they are drawn.

    Attributes
    ----------
    columns : tuple of PrintedColumn
    parent : int
        An earlier node; -1 for the first.
    chances : ndarray of int, shape (n_kinds, n_parent, n_states)
        Of each state given the kind of row and the state of the parent; of the first node, of the kind and the state.
    evidence : Evidence
    """

    columns: tuple[PrintedColumn, ...]
    parent: int
    chances: NDArray[np.int64]
    evidence: Evidence

    def __post_init__(self) -> None:
        n_states = self.chances.shape[-1]
        require(self.chances.ndim == 3 and n_states == len(self.evidence.group) > 0 and (self.chances >= 0).all())
        whole = self.chances.sum(axis=(0, 2) if self.parent < 0 else 2)
        require(((whole > 0) & (whole <= WHOLE + len(self.chances) * n_states)).all())
        require(all(len(column.first) == n_states + 1 for column in self.columns))


class RowModel(Declared, frozen=True, eq=False, dict=True, tag_field="kind", tag="model"):
    """A tree of nodes [ChowLiu], of many rows a mixture of such trees, conditioned on the box of each cell.

    Attributes
    ----------
    names : tuple of str
        Printed columns in their order.
    nodes : tuple of ModelNode
        Parents before children.
    forbidden : tuple of (int, int, ndarray of bool)
        Pairs of nodes and the pairs of their states that must not meet.
    n_parameters, n_rows : int
        Free parameters, and the rows that they were learned from.
    """

    names: tuple[str, ...]
    nodes: tuple[ModelNode, ...]
    forbidden: tuple[tuple[int, int, Mask], ...]
    n_parameters: Count
    n_rows: Count

    def __post_init__(self) -> None:
        kinds, sizes = {len(node.chances) for node in self.nodes}, [node.chances.shape[1:] for node in self.nodes]
        require(len(kinds) == len({len(node.evidence.box) for node in self.nodes}) == 1)
        require(self.nodes[0].parent == -1 and sizes[0][0] == 1)
        for number, node in enumerate(self.nodes[1:], 1):
            require(0 <= node.parent < number and sizes[number][0] == sizes[node.parent][1])
        names = [column.name for node in self.nodes for column in node.columns]
        require(sorted(names) == sorted(set(self.names)) and len(names) == len(self.names))
        for one, another, never in self.forbidden:
            require(min(one, another) >= 0 and max(one, another) < len(sizes))
            require(never.shape == (sizes[one][1], sizes[another][1]))

    @classmethod
    def fit(
        cls,
        table: Mapping[str, Any],
        tree: Tree,
        cells: NDArray[np.integer[Any]],
        words: RandomWords,
        edges: Mapping[str, Sequence[Any]] | None = None,
        above: Mapping[str, Mapping[str, tuple[str, ...]]] | None = None,
    ) -> Self:
        """Learn a model of the public columns of a table.

        Parameters
        ----------
        table : mapping of name to column
        tree : Tree
            Whose cells will be printed.
        cells : ndarray of int, shape (n,)
            Cell of each row.
        words : RandomWords
            For noise on the choice of edges.
        edges : mapping of name to numbers, optional
            Of the levels of ordered columns, in place of learned ones.
        above : mapping of name to ancestors by value, optional
            Declared for text, where rare values are printed as an ancestor.
        """
        values = Values({name: table[name] for name in tree.names}, edges or {}, above or {})
        roots = determined(values)
        n = len(cells)
        price = _PRICE if n >= MODELLED_ROWS else _PRICE_OF_FEW
        for coarser in range(5):
            nodes = nodes_of(values, roots, tree.edges, coarser)
            told = np.zeros((len(nodes), len(nodes)))
            banned: dict[tuple[int, int], Mask] = {}
            groups = [node.groups(GROUPS) for node in nodes]
            for one, another, counts in pair_counts(nodes):
                told[one, another] = information(counts, (groups[one], groups[another]))
                if (never := forbidden(counts)).any():
                    banned[one, another] = never
            branches = spanning_tree(told, words, n)
            order = [0, *(child for _, child in branches)]
            of_node = [shares(node.counts) for node in nodes]
            tables, n_parameters = [of_node[0][None]], 0
            for parent, child in branches:
                never = banned.get((parent, child), banned.get((child, parent), np.zeros((1, 1), bool)).T)
                counts = joint_counts(nodes[parent], nodes[child])
                # Pairs are counted in all states, or in fewer groups of them.
                choice = [(nodes[parent].groups(most), nodes[child].groups(most)) for most in (1 << 16, 48, 24, 12, 6)]
                learned, n_used = chances(counts, of_node[parent], of_node[child], never, choice, price)
                tables.append(learned)
                n_parameters += n_used
            place = {node: number for number, node in enumerate(order)}
            parents = [-1, *(place[parent] for parent, _ in branches)]
            nodes = [nodes[node] for node in order]
            if n >= KINDS_ROWS:
                in_kinds, n_used = of_kinds(nodes, parents, tables, words)
                n_parameters += n_used
            else:
                in_kinds = [table[None] for table in tables]
            n_parameters += sum(int((node.counts > LEAST_ROWS).sum()) for node in nodes)
            if NormalDist().cdf((n_parameters / (2 * n)) ** 0.5) <= _MOST_TOLD:
                break
        whole = [in_whole_numbers(table) for table in in_kinds]
        pairs = tuple(
            (place[one], place[another], never)
            for (one, another), never in banned.items()
            if (one, another) not in branches and (another, one) not in branches
        )
        evidence = [Evidence.of(node, tree) for node in nodes]
        if n >= KINDS_ROWS:
            doubles = [learned.astype(np.float64) for learned in whole]
            evidence = weighted(evidence, nodes, parents, doubles, cells, tree)
        made = (
            ModelNode(node.columns, parent, learned, own)
            for node, parent, learned, own in zip(nodes, parents, whole, evidence, strict=True)
        )
        return cls(tree.names, tuple(made), pairs, n_parameters, n)

    @property
    def n_cells(self) -> int:
        """Released symbols that it prints."""
        return len(self.nodes[0].evidence.box)

    @property
    def columns(self) -> list[PrintedColumn]:
        """What is printed in each column, in their order."""
        found = {column.name: column for node in self.nodes for column in node.columns}
        return [found[name] for name in self.names]

    @property
    def values(self) -> dict[str, pa.Array]:
        """Values that each column prints as they are; of numbers and dates any between edges are printed too."""
        return {column.name: column.values for column in self.columns}

    @property
    def membership(self) -> float:
        """AUC, about, of somebody who knows all rows but one and asks whether a person's is among them."""
        return NormalDist().cdf((self.n_parameters / (2 * max(self.n_rows, 1))) ** 0.5)

    @property
    def told(self) -> str:
        """What printing tells of people, for the owner of the table, of which the figure is a function."""
        words = "membership is not protected:"
        if self.n_rows < MODELLED_ROWS or self.membership > _MOST_TOLD:
            return f"{words} there are too few rows to hide who is among them"
        return f"{words} who knows all others tells a member about {self.membership:.0%} of the time (50% is guessing)"

    @cached_property
    def _messages(self) -> list[NDArray[np.float32]]:
        """Weights of the states of each node in each cell, by all that is below it.

        A cell whose box the model holds for impossible is printed from all states, those of its box far more often.
        """
        parents, tables = [node.parent for node in self.nodes], [node.chances.astype(np.float64) for node in self.nodes]
        found: list[list[NDArray[np.float32]]] = [[] for _ in self.nodes]
        for start in range(0, self.n_cells, 512):
            part = np.arange(start, min(start + 512, self.n_cells))
            own = [node.evidence.of_cells(part) for node in self.nodes]
            made = messages(parents, tables, own)
            never = (made[0] * tables[0]).sum(axis=(0, 2)) == 0
            if never.any():
                own = [np.maximum(one, never[:, None]) for one in own]
                made = messages(parents, tables, own)
            for kept, one in zip(found, made, strict=True):
                kept.append(one.astype(np.float32))
        return [np.concatenate(parts, axis=1) for parts in found]

    def decode(
        self, cells: NDArray[np.integer[Any]], words: RandomWords, start: int = 0, workers: int = 1
    ) -> dict[str, pa.Array]:
        """Printed rows of released cells; row i of a table draws the same in any batch."""
        order = np.argsort(cells, kind="stable")
        states = np.empty((len(self.nodes), len(cells)), np.int32)

        def drawn(part: slice) -> None:
            rows = order[part]
            for draw in range(20):  # again for rows that hold a forbidden pair; then they stay
                states[:, rows] = self._drawn(cells[rows].astype(np.intp), words, start + rows, draw)
                is_forbidden = np.zeros(len(rows), bool)
                for one, another, never in self.forbidden:
                    is_forbidden |= never[states[one, rows], states[another, rows]]
                rows = rows[is_forbidden]
                if not len(rows):
                    break

        for _ in in_turn(drawn, (slice(at, at + BLOCK_ROWS) for at in range(0, len(cells), BLOCK_ROWS)), workers):
            pass
        positions = start + np.arange(len(cells))

        def printed(entry: tuple[int, int, PrintedColumn]) -> pa.Array:
            node, lane, column = entry
            first = words.words_at(_VALUE_LANE + 2 * lane, positions)
            more = first if column.is_listed else words.words_at(_VALUE_LANE + 2 * lane + 1, positions)
            return column.draw(states[node].astype(np.intp), high_half(first), more)

        asked = [(node, self.names.index(c.name), c) for node, own in enumerate(self.nodes) for c in own.columns]
        made = dict(zip([column.name for *_, column in asked], in_turn(printed, asked, workers), strict=True))
        return {name: made[name] for name in self.names}

    def _drawn(self, cells: Codes, words: RandomWords, positions: Codes, draw: int) -> NDArray[np.int32]:
        """States of each node in rows of ascending cells, shape (n_nodes, n)."""
        states = np.empty((len(self.nodes), len(cells)), np.int32)
        kind = np.zeros(len(cells), np.intp)
        for number, (node, weights) in enumerate(zip(self.nodes, self._messages, strict=True)):
            word = high_half(words.words_at(_NODE_LANE + number + draw * _ROUND_LANES, positions))
            n_parent, n_states = node.chances.shape[1:]
            if number:
                table, given = node.chances.reshape(-1, n_states), kind * n_parent + states[node.parent]
            else:  # of the first node the kind is drawn too
                table, given = node.chances.reshape(1, -1), kind
                weights = np.broadcast_to(weights, (len(node.chances), self.n_cells, n_states))
                weights = weights.transpose(1, 0, 2).reshape(1, self.n_cells, -1)
            keys = cells * len(table) + given
            by_key = np.argsort(keys, kind="stable")
            distinct, begins = np.unique(keys[by_key], return_index=True)
            ends = np.append(begins[1:], len(keys))
            for first in range(0, len(distinct), _KEYS):
                part = slice(first, first + _KEYS)
                cell, line = np.divmod(distinct[part], len(table))
                told = weights[line // n_parent % len(weights), cell].astype(np.int64)
                weight = table[line] * told
                lost = ~weight.any(axis=1)
                weight[lost] = told[lost]
                rows = by_key[begins[part][0] : ends[part][-1]]
                own = np.repeat(np.arange(len(cell)), ends[part] - begins[part])
                states[number, rows] = drawn_states(weight, own, word[rows])
            if not number:
                kind, states[0] = np.divmod(states[0], n_states)
        return states
