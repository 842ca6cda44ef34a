"""Saved releases as JSON, read back as untrusted input: every field is checked, none is passed over."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from sanitize._checks import double
from sanitize._files.strict_json import NotStrict, strict_json
from sanitize.binning import Bins, bins_from_dict
from sanitize.budgets import BUDGETS, budget_from_dict, budget_to_dict
from sanitize.channel import CHANNEL_VERSION, Channel
from sanitize.errors import InvalidBudget, InvalidChannel, InvalidParameter, SanitizeError
from sanitize.measures import Measure
from sanitize.report import STATUSES, standing_from, standing_to

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sanitize.budgets import Budget
    from sanitize.channel import Standing

_MEASURE = ("name", "label", "unit", "kind", "before", "after", "bound")
_CHANNEL = ("format", "version", "scale_bits", "inputs", "outputs", "stages")


class Damaged(InvalidParameter):
    """A text is not a saved release."""

    def __init__(self, what: str) -> None:
        super().__init__(f"this is not a saved release that can be trusted: {what}; save it again")

    def __reduce__(self) -> tuple[Any, ...]:
        return InvalidParameter, self.args


def parse(text: str) -> dict[str, Any]:
    """JSON object that says one thing only."""
    try:
        state = strict_json(text)
    except NotStrict as error:
        raise Damaged(str(error)) from None
    if not isinstance(state, dict):
        raise Damaged("it is not an object")
    return state


def fields(state: Any, names: tuple[str, ...], where: str) -> dict[str, Any]:
    """An object with exactly these fields."""
    if not isinstance(state, dict) or set(state) != set(names):
        raise Damaged(f"{where} must have the fields {', '.join(names)} and no others")
    return state


def listed(state: Any, of: Callable[[Any], Any], where: str) -> tuple[Any, ...]:
    """A list, each of whose items is checked."""
    if not isinstance(state, list):
        raise Damaged(f"{where} must be a list")
    return tuple(of(item) for item in state)


def text_of(state: Any, where: str, choices: tuple[str, ...] = ()) -> str:
    """A text, or one of a few."""
    if not isinstance(state, str) or (choices and state not in choices):
        raise Damaged(f"{where} must be {' or '.join(map(repr, choices)) if choices else 'text'}")
    return state


def level_of(state: Any) -> tuple[float, float] | None:
    """The (eps, delta) of secrets, where there is one."""
    if state is None:
        return None
    found = listed(state, lambda figure: number_of(figure, "secret_dp"), "secret_dp")
    if len(found) != 2 or not (0 < found[0] < math.inf and 0 < found[1] <= 1):
        raise Damaged("secret_dp must be null, or eps and delta")
    return found[0], found[1]


def number_of(state: Any, where: str) -> float:
    """A finite number, or an infinity spelt out."""
    if state in ("inf", "-inf"):
        return float(state)
    given = None if isinstance(state, bool) or not isinstance(state, (int, float)) else double(state)
    if given is None:
        raise Damaged(f"{where} must be a number, 'inf' or '-inf'")
    return given


def from_number(value: float | None) -> float | str | None:
    """A number as JSON has it."""
    return str(value) if value is not None and math.isinf(value) else value


def budget_to(budget: Budget | None) -> dict[str, Any]:
    """A budget of the library as its name and bounds."""
    name = type(budget).__name__
    if BUDGETS.get(name) is not type(budget):
        raise InvalidParameter(
            f"a release with the budget {name} cannot be saved: only budgets of the library can ({', '.join(BUDGETS)})"
        )
    return budget_to_dict(budget)


def budget_from(state: Any) -> Budget:
    """Inverse of `budget_to`."""
    if not isinstance(state, dict):
        raise Damaged("its budget is not an object")
    try:
        return budget_from_dict(state, lambda bound: number_of(bound, "a bound"))
    except InvalidBudget as error:
        raise Damaged(f"its budget is invalid ({error})") from None


def bins_from(state: Any) -> Bins:
    """Bins of one column, or its grid, checked."""
    try:
        return bins_from_dict(state)
    except InvalidParameter as error:
        raise Damaged(str(error)) from None


def measure_from(state: Any) -> Measure:
    """One figure of the fit."""
    fields(state, _MEASURE, "a figure")
    text_of(state["kind"], "the kind of a figure", ("exact", "bound", "estimate"))
    parts: dict[str, Any] = {name: text_of(state[name], f"the {name} of a figure") for name in _MEASURE[:4]}
    for name in _MEASURE[4:]:
        parts[name] = None if state[name] is None else number_of(state[name], "a figure")
    return Measure(**parts)


def measure_to(measure: Mapping[str, Any]) -> dict[str, Any]:
    """The same from a line of a report's document, or from a figure."""
    values = {name: measure[name] for name in _MEASURE}
    return {name: from_number(value) if isinstance(value, float) else value for name, value in values.items()}


def standing_of(state: Any) -> Standing | None:
    """What was proved of the design; its words are those that its gap calls for."""
    if state is None:
        return None
    fields(state, ("status", "gap", "among", "words"), "the standing of the design")
    text_of(state["status"], "the status of the design", STATUSES)
    text_of(state["among"], "what the design is the best of")
    if state["gap"] is not None and not 0 <= number_of(state["gap"], "the gap of the design") < math.inf:
        raise Damaged("the gap of the design must be a number >= 0")
    standing = standing_from(state)
    if standing_to(standing) != state:
        raise Damaged("the words on the design contradict its gap")
    return standing


def channel_from(state: Any) -> Channel:
    """A kernel and its alphabets; whole numbers must be whole and symbols distinct and in order."""
    fields(state, _CHANNEL, "the channel")
    if type(state["version"]) is not int or state["version"] != CHANNEL_VERSION:
        raise Damaged("its channel has another version of the format")
    for name in ("inputs", "outputs"):
        fields(state[name], ("columns", "levels", "codes"), "an alphabet")
        listed(state[name]["columns"], lambda column: text_of(column, "a column"), "the columns of an alphabet")
        listed(state[name]["codes"], lambda row: _whole(row, "the codes of an alphabet"), "the codes of an alphabet")
    for stage in listed(state["stages"], lambda stage: stage, "the stages of a channel"):
        if not isinstance(stage, dict) or "kernel" not in stage:
            _check_rows(stage)
            continue
        fields(stage, ("part", "kernel", "tuples"), "a stage of a part")
        _whole([stage["part"]], "the part of a stage")
        _check_rows(stage["kernel"])
        if stage["tuples"] is not None:
            fields(stage["tuples"], ("codes", "sizes"), "the tuples of a stage")
            _whole(stage["tuples"]["sizes"], "the sizes of tuples")
            listed(stage["tuples"]["codes"], lambda row: _whole(row, "the codes of tuples"), "the codes of tuples")
    try:
        return Channel.from_json(json.dumps(state))
    except (InvalidChannel, ValueError) as error:
        raise Damaged(str(error) if isinstance(error, SanitizeError) else "its channel cannot be read") from None


def _check_rows(state: Any) -> None:
    fields(state, ("indptr", "indices", "weights", "n_outputs"), "a stage")
    for name in ("indptr", "indices", "weights"):
        _whole(state[name], f"the {name} of a stage")
    _whole([state["n_outputs"]], "the outputs of a stage")


def _whole(state: Any, where: str) -> None:
    if not isinstance(state, list) or not all(type(number) is int and abs(number) < 1 << 63 for number in state):
        raise Damaged(f"{where} must be whole numbers")
