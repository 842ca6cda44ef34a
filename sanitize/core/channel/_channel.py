"""Channels P_{Y|X} as chains of sparse stages, which can be built, composed and sampled exactly."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy import sparse

from sanitize._util.checks import Vector, doubles, whole_number
from sanitize._util.declared import Declared, SchemaError, Version1, read, to_builtin
from sanitize._util.limits import DENSE_CELLS
from sanitize._util.outputs import write_text
from sanitize._util.sampling.noise import Randomness, RandomWords, random_words
from sanitize._util.sampling.sampler import draw_all, receiving
from sanitize._util.sealed_text import NotStrict, strict_json
from sanitize.core.alphabet import Alphabet, AlphabetForm
from sanitize.core.channel._json import StageForm, read_text, stages_from, stages_to
from sanitize.core.channel._stage import SCALE_BITS, Stage, stage_product
from sanitize.errors import InvalidChannel, InvalidParameter, SanitizeError

if TYPE_CHECKING:
    import os

    from numpy.typing import ArrayLike, NDArray


Status = Literal["optimal", "within", "cut short", "heuristic"]


@dataclass(frozen=True)
class Optimality:
    """Proved statement about the utility of a designed channel.

    Attributes
    ----------
    status : {"optimal", "within", "cut short", "heuristic"}
        ``optimal``: the requested gap was reached; ``within``: rounding keeps it open; ``cut short``: effort or time
        was used up; ``heuristic``: nothing was proved.
    gap : float or None
        I(X;Y) is at most this many nats below the optimum among the compared channels; None if no bound is known.
    among : str
        Channels that the design is compared with, for example ``mergings``, if not all channels within the budget.

    Examples
    --------
    >>> import sanitize as sz
    >>> joint = sz.JointDistribution.from_matrix([[0.20, 0.05, 0.15, 0.10], [0.05, 0.20, 0.15, 0.10]])
    >>> sz.optimal_random_response(joint, 0.3).optimality.words
    'optimal'
    >>> sz.subset_merging(joint, 0.3).optimality.words
    'optimal among mergings'
    >>> sz.watchdog(joint, 0.3).optimality.words
    'a heuristic: how far from the best is not known'
    """

    status: Status
    gap: float | None = None
    among: str = ""

    @property
    def words(self) -> str:
        """Optimality in words: optimal, within a number of nats of the optimum, cut short, or a heuristic."""
        among = f" among {self.among}" if self.among else ""
        if self.status == "optimal":
            return f"optimal{among}"
        if self.gap is None:
            return f"{'a heuristic' if self.status == 'heuristic' else 'cut short'}: how far from the best is not known"
        # The gap is rounded up, so that the words promise no more than the number.
        nats = float(np.format_float_scientific(self.gap * 1.005, 2))
        within = f"within {nats:.3g} nats of the optimum{among}"
        return within if self.status == "within" else f"cut short, {within}"


# The two qualities that need no figure of their own, shared by all mechanisms.
HEURISTIC = Optimality("heuristic")
BEST = Optimality("optimal", 0.0)


@dataclass(frozen=True, eq=False, init=False)
class Channel:
    """Privacy channel P_{Y|X}: a chain of sparse row-stochastic stages, applied first to last.

    The probabilities of every stage are integers over 2**62 that sum exactly. Reports measure, and `sample` draws from,
    the distribution of these integers. A chain of stages keeps memory linear in the number of symbols where the product
    would be a dense square matrix: randomized response and in-group resampling are two short stages.

    Attributes
    ----------
    stages : tuple of Stage
    inputs, outputs : Alphabet
        Symbols of X and of Y.
    optimality : Optimality or None
        Proved statement about the utility; it is not part of the kernel, so equality and JSON ignore it.

    Examples
    --------
    >>> channel = Channel.from_matrix([[0.75, 0.25], [0.25, 0.75]])
    >>> channel.then(channel).matrix
    array([[0.625, 0.375],
           [0.375, 0.625]])
    >>> channel.sample([0, 1, 1], rng=5).tolist()
    [0, 1, 1]
    """

    stages: tuple[Stage, ...]
    inputs: Alphabet
    outputs: Alphabet
    optimality: Optimality | None

    def __init__(
        self, stages: tuple[Stage, ...], inputs: Alphabet | None = None, outputs: Alphabet | None = None
    ) -> None:
        if not stages:
            raise InvalidChannel(
                "stages must contain at least one stage, got none; to release symbols unchanged, use Channel.identity"
            )
        for a, b in pairwise(stages):
            if a.n_outputs != b.n_inputs:
                raise InvalidChannel(
                    f"a stage with {b.n_inputs} inputs cannot follow a stage with {a.n_outputs} outputs"
                )
        inputs = Alphabet.from_size("x", stages[0].n_inputs) if inputs is None else inputs
        outputs = Alphabet.from_size("y", stages[-1].n_outputs) if outputs is None else outputs
        if len(inputs) != stages[0].n_inputs or len(outputs) != stages[-1].n_outputs:
            raise InvalidChannel(
                f"inputs and outputs must have {stages[0].n_inputs} and {stages[-1].n_outputs} symbols, like the "
                f"stages, got {len(inputs)} and {len(outputs)}"
            )
        fused: list[Stage] = []  # fewer stages draw faster, so deterministic ones are joined and identities left out
        for stage in stages:
            if stage.is_deterministic and fused:
                if stage.n_inputs == stage.n_outputs and np.array_equal(stage.indices, np.arange(stage.n_inputs)):
                    continue
                if fused[-1].is_deterministic:
                    fused[-1] = Stage.deterministic(stage.indices[fused[-1].indices], stage.n_outputs)
                    continue
            fused.append(stage)
        vars(self).update(stages=tuple(fused), inputs=inputs, outputs=outputs, optimality=None)

    @classmethod
    def from_matrix(cls, matrix: ArrayLike, inputs: Alphabet | None = None, outputs: Alphabet | None = None) -> Channel:
        """Channel from a row-stochastic matrix (n_x, n_y); rows must sum to 1 within 1e-9.

        Raises
        ------
        InvalidChannel
            If the matrix is not two-dimensional, has negative or non-finite entries, or a row does not sum to 1.
        """
        dense = doubles(
            matrix, InvalidChannel("a channel matrix must have numbers as entries and rows of equal length")
        )
        if dense.ndim != 2 or not dense.size:
            raise InvalidChannel(
                f"a channel matrix must have two dimensions and not be empty, got an array of shape {dense.shape}"
            )
        n_x, n_y = dense.shape
        stage = Stage.from_probabilities(
            np.arange(0, n_x * n_y + 1, n_y), np.tile(np.arange(n_y), n_x), dense.ravel(), n_y
        )
        return cls((stage,), inputs, outputs)

    @classmethod
    def identity(cls, n: int, symbols: Alphabet | None = None) -> Channel:
        """Channel that releases X unchanged."""
        try:
            n = whole_number("the number of symbols of the identity", n, 1)
        except InvalidParameter as error:
            raise InvalidChannel(str(error)) from None
        return cls((Stage.deterministic(np.arange(n), n),), symbols, symbols)

    @classmethod
    def merge(cls, labels: ArrayLike, inputs: Alphabet | None = None, outputs: Alphabet | None = None) -> Channel:
        """Deterministic channel that releases the group of each symbol; ``labels[x]`` is the number of the group."""
        groups = np.asarray(labels)
        if groups.ndim != 1 or not groups.size or not np.issubdtype(groups.dtype, np.integer):
            raise InvalidChannel(
                "labels must be the group numbers of the symbols, one whole number per symbol, "
                f"got an array of {groups.dtype} of shape {groups.shape}"
            )
        return cls((Stage.deterministic(groups, int(groups.max()) + 1),), inputs, outputs)

    @property
    def n_inputs(self) -> int:
        """Number of input symbols."""
        return self.stages[0].n_inputs

    @property
    def n_outputs(self) -> int:
        """Number of output symbols."""
        return self.stages[-1].n_outputs

    @property
    def matrix(self) -> Vector:
        """Probabilities P(y|x) as a dense matrix (n_x, n_y), for alphabets of up to a few thousand symbols."""
        if self.n_inputs * self.n_outputs > DENSE_CELLS:
            raise InvalidChannel(
                f"the channel is too large for a dense matrix of {self.n_inputs} x {self.n_outputs}; "
                "use channel.stages, joint.push(channel) or channel.sample"
            )
        return self.sparse_matrix().toarray()

    def sparse_matrix(self) -> sparse.csr_array:
        """Return P(y|x) as one sparse matrix, the product of the stages."""
        return stage_product(self.stages)

    def push(self, pmf: Vector) -> Vector:
        """Turn a distribution of (anything, X), shape (..., n_x), into that of (anything, Y), shape (..., n_y)."""
        for stage in self.stages:
            pmf = stage.push(pmf)
        return pmf

    def then(self, following: Channel) -> Channel:
        """Return the channel from X to Z that passes Y through another channel."""
        if (n_in := following.n_inputs) != (n_out := self.n_outputs):
            raise InvalidChannel(f"a channel with {n_in} inputs cannot follow a channel with {n_out} outputs")
        return Channel(self.stages + following.stages, self.inputs, following.outputs)

    def renamed(self, inputs: Alphabet | None = None, outputs: Alphabet | None = None) -> Channel:
        """Channel with the same kernel and other alphabets."""
        return Channel(self.stages, inputs or self.inputs, outputs or self.outputs).with_optimality(self.optimality)

    def with_optimality(self, optimality: Optimality | None) -> Channel:
        """Channel with the same kernel and symbols, and the given statement about its optimality."""
        new_channel = Channel(self.stages, self.inputs, self.outputs)
        object.__setattr__(new_channel, "optimality", optimality)
        return new_channel

    def reversed(self, p_x: Vector) -> Channel:
        """Channel P_{X|Y} by Bayes' rule, from released to public symbols.

        Applied after the channel, it replaces each released symbol by a public one. S - X - Y - X' is a Markov chain,
        so by data processing this never leaks more, and the margin of X' is P_X. Symbols of probability 0 are never
        released; a released symbol that only they lead to becomes some other public symbol.
        """
        joint = sparse.csr_array((self.sparse_matrix() * p_x[:, None]).T)
        joint.eliminate_zeros()
        is_left = (np.diff(joint.indptr) == 0)[:, None]
        joint = sparse.csr_array(joint + sparse.csr_array(is_left.astype(float)) @ sparse.csr_array(p_x[None]))
        joint.eliminate_zeros()
        joint.sort_indices()
        sums = np.add.reduceat(joint.data, joint.indptr[:-1])
        stage = Stage.from_probabilities(
            joint.indptr, joint.indices, joint.data / np.repeat(sums, np.diff(joint.indptr)), self.n_inputs
        )
        return Channel((stage,), self.outputs, self.inputs)

    def sample(
        self, codes: ArrayLike, rng: Randomness | RandomWords = None, *, start: int = 0, out: NDArray[Any] | None = None
    ) -> NDArray[Any]:
        """Draw the released symbol of each row, from exactly the distribution that reports measure.

        Parameters
        ----------
        codes : array-like of int, shape (n_rows,)
            Input symbols.
        rng : None, int, RandomState or 32 bytes
            None draws from a cryptographic generator keyed by the operating system. An integer seeds such a generator,
            for tests; bytes are its key.
        start : int
            Number of the first row. With a key or seed, row ``i`` draws the same symbol in any batch.
        out : ndarray of int, shape (n_rows,), optional
            Array to draw into, of any integer type that holds the symbols; a narrow type saves time.

        Returns
        -------
        ndarray of shape (n_rows,)
            ``out``, or a new array of int32.

        Raises
        ------
        InvalidChannel
            If codes are not the numbers of input symbols, or do not fit ``out``.
        """
        rows = np.asarray(codes)
        if rows.ndim != 1 or (rows.size and not np.issubdtype(rows.dtype, np.integer)):
            raise InvalidChannel(
                f"codes must be a one-dimensional array of integers, got {rows.dtype} of shape {rows.shape}"
            )
        if rows.size and (rows.min() < 0 or rows.max() >= self.n_inputs):
            raise InvalidChannel(f"codes must be numbers of input symbols, from 0 to {self.n_inputs - 1}")
        source = rng if isinstance(rng, RandomWords) else random_words(rng)
        steps = [
            stage.indices.take if stage.is_deterministic else stage.sampler.drawing(source, lane, start)
            for lane, stage in enumerate(self.stages)
        ]
        return draw_all(steps, rows, receiving(out, len(rows), self.n_outputs))

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the kernel and its symbols as text; if a path is given, also write it, readable by its owner only.

        A channel read back from this text draws the same symbols from the same key. Analysts of a release need it
        (`sanitize.auditing.analyze`). It contains neither rows nor P_SX, but it was designed from that distribution:
        in-group resampling reveals P_X, and merged or noised symbols show which symbols were risky. Budgets hold
        nevertheless, since they protect against an adversary who knows both P_SX and the channel.
        """
        text = json.dumps(to_builtin(self.form()))
        write_text(text + "\n", path)
        return text

    @classmethod
    def from_json(cls, text_or_path: str | os.PathLike[str]) -> Channel:
        """Read a channel from the text or file of `to_json`; every invariant is checked again.

        Raises
        ------
        InvalidChannel
            If the text is not a channel, or is damaged.
        SourceError
            If the file cannot be read.
        """
        try:
            return read(ChannelForm, strict_json(read_text(text_or_path))).channel()
        except (NotStrict, SchemaError) as error:
            raise InvalidChannel(f"the text or file is not a channel that this library can read: {error}") from None

    def form(self) -> ChannelForm:
        """Return the channel in its form for JSON."""
        return ChannelForm(
            "sanitize/channel", 1, SCALE_BITS, self.inputs.form(), self.outputs.form(), stages_to(self.stages)
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Channel):
            return NotImplemented
        if self.inputs != other.inputs or self.outputs != other.outputs or len(self.stages) != len(other.stages):
            return False
        return all(all(map(np.array_equal, a.form, b.form)) for a, b in zip(self.stages, other.stages, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(stage.weights.tobytes() for stage in self.stages))

    def __repr__(self) -> str:
        entries = sum(len(stage.indices) for stage in self.stages)
        return f"Channel({self.n_inputs} -> {self.n_outputs} symbols, {len(self.stages)} stage(s), {entries} entries)"


def check_channel(channel: object) -> Channel:
    """Return the channel; if it is something else, raise an error that says what was passed."""
    if not isinstance(channel, Channel):
        raise InvalidChannel.no_channel(channel)
    return channel


class ChannelForm(Declared, frozen=True, eq=False):
    """Form of a channel in JSON, which is checked when it is read because anybody may have changed it."""

    format: Literal["sanitize/channel"]
    version: Version1
    scale_bits: Literal[62]
    inputs: AlphabetForm
    outputs: AlphabetForm
    stages: list[StageForm]

    def channel(self) -> Channel:
        """Return the channel; every invariant is checked again.

        Raises
        ------
        InvalidChannel
            If the parts of the form do not fit each other.
        """
        try:
            return Channel(stages_from(self.stages), self.inputs.alphabet(), self.outputs.alphabet())
        except (IndexError, ValueError, ArithmeticError) as error:
            if isinstance(error, InvalidChannel):
                raise
            what = str(error) if isinstance(error, SanitizeError) else "its parts do not fit each other"
            raise InvalidChannel(f"this channel is damaged: {what}") from None
