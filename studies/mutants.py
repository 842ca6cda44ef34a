"""Faults planted at random in the functions of the index of proofs, each held against the tests of its own rows.

Run ``python studies/mutants.py [mutants] [seed] [first:last]`` from the root of the repository; nothing is written.
A fault is a sign (+ for -, a dropped minus), a factor (a product or quotient 5 % off), or an order (two arguments, the
sides of a difference or of a quotient), in the function that a row names or in a private function of the same file
that it calls. Faults ``first`` to ``last`` of the drawn ones are run, counted from 0.

``python studies/mutants.py rows [pattern]`` takes every row, or those whose statement or function fits the pattern,
by itself: faults in its own functions, its own tests, until one is caught. Faults beside a delta come first where a
row's function has one.
"""

from __future__ import annotations

import argparse
import ast
import copy
import csv
import importlib
import inspect
import json
import os
import random
import re
import resource
import signal
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import FunctionType

    # Node, kind of fault, and what makes the node that replaces it.
    Places = Iterator[tuple[ast.AST, str, Callable[[], ast.AST]]]

INDEX = Path("docs/theory/index_of_proofs.csv")
ROOMS = ("tradeoff", "bounds", "conversions", "capacity", "accounting", "individual", "notions", "lifts", "measures")
# Order does not matter to these, and what they are given by name and value is not a formula.
NO_ORDER = {"max", "min", "maximum", "minimum", "isinstance", "zip", "allclose", "array_equal", "hypot", "add"}
CHECKS = {"number", "whole_number", "nats", "check_tol", "check_size", "cast", "range", "getattr", "logaddexp"}
NAME, NODE = re.compile(r"`(sanitize\.[\w.]+)`"), re.compile(r"`(tests/[^`]+::[^`]+)`")
# Times a row's tests may take over what they take on sound code, and CPU seconds on top.
SLOWER, MORE = 3, 8
# Faults planted for a row before it counts as weak.
TRIES = 12
OPTIONS = ["-q", "-p", "no:cacheprovider", "-p", "no:randomly", "-W", "ignore::pytest.PytestWarning"]


@dataclass(frozen=True)
class Fault:
    """One changed line of one function."""

    owner: str
    function: FunctionType
    number: int
    kind: str
    line: int
    text: str
    code: object


def rows() -> list[tuple[str, list[str], list[str]]]:
    """Statement, functions and tests of each row of the index of proofs."""
    with INDEX.open(encoding="utf-8", newline="") as file:
        return [
            (f"[{row['Paper']}] {row['Statement']}", NAME.findall(row["Functions"]), NODE.findall(row["Tests"]))
            for row in csv.DictReader(file)
        ]


def by_function() -> dict[str, set[str]]:
    """Tests of all rows that name a function, for those of the theory rooms."""
    tests: dict[str, set[str]] = {}
    for _, names, nodes in rows():
        for name in names:
            if not {*name.split(".")}.isdisjoint(ROOMS):
                tests.setdefault(name, set()).update(nodes)
    return tests


def functions(name: str) -> list[FunctionType]:
    """The function or the methods of the class, and private functions of its file that they reach by name."""
    module_name, _, last = name.rpartition(".")
    found = getattr(importlib.import_module(module_name), last, None)
    if inspect.isclass(found):
        members = [inspect.getattr_static(found, member) for member in dir(found) if not member.startswith("__")]
        written = [one.fget if isinstance(one, property) else one for one in members]
        todo = [one for one in written if inspect.isfunction(one) and one.__code__.co_filename.endswith(".py")]
    else:
        todo = [inspect.unwrap(found)] if callable(found) else []
    seen: list[FunctionType] = []
    while todo:
        one = todo.pop()
        if not inspect.isfunction(one) or one in seen or not one.__module__.startswith("sanitize."):
            continue
        seen.append(one)
        inside = [one.__globals__.get(used) for used in one.__code__.co_names if used.startswith("_")]
        todo += [inspect.unwrap(other) for other in inside if inspect.isfunction(other)]
        todo = [other for other in todo if other.__module__ == one.__module__]
    return seen


def results(tree: ast.AST) -> Places:
    """The values that a function returns, each 5 % off."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Return) and node.value is not None:
            yield node, "factor", lambda value=node.value: ast.Return(ast.BinOp(value, ast.Mult(), ast.Constant(1.05)))


def sites(tree: ast.AST) -> Places:
    """Places of a function that can be changed: node, kind of fault, and the node that replaces it."""
    skipped: set[int] = set()
    for node in ast.walk(tree):
        named = _called(node)
        if isinstance(node, (ast.Raise, ast.arguments, ast.AnnAssign, ast.JoinedStr)) or named in CHECKS:
            skipped.update(id(inner) for inner in ast.walk(node))
        if id(node) in skipped:
            continue
        if isinstance(node, ast.BinOp):
            swapped = {ast.Add: ast.Sub, ast.Sub: ast.Add}.get(type(node.op))
            if swapped and not isinstance(node.left, (ast.List, ast.Tuple)):
                yield node, "sign", lambda node=node, op=swapped: ast.BinOp(node.left, op(), node.right)
            if isinstance(node.op, (ast.Sub, ast.Div)):
                yield node, "order", lambda node=node: ast.BinOp(node.right, node.op, node.left)
            if isinstance(node.op, (ast.Mult, ast.Div)) and not isinstance(node.left, (ast.List, ast.Tuple)):
                yield node, "factor", lambda node=node: ast.BinOp(node, ast.Mult(), ast.Constant(1.05))
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            if not isinstance(node.operand, ast.Constant):
                yield node, "sign", lambda node=node: node.operand
        elif isinstance(node, ast.Call) and len(node.args) > 1 and named not in NO_ORDER:
            first, second, *rest = node.args
            if isinstance(first, ast.Starred) or isinstance(second, ast.Starred) or ast.dump(first) == ast.dump(second):
                continue
            yield node, "order", lambda node=node, args=[second, first, *rest]: ast.Call(node.func, args, node.keywords)


def _called(node: ast.AST) -> str:
    if not isinstance(node, ast.Call):
        return ""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


class _Replace(ast.NodeTransformer):
    def __init__(self, place: int, new: Callable[[], ast.AST]) -> None:
        self.place, self.new = place, new

    def visit(self, node: ast.AST) -> ast.AST:
        return ast.copy_location(self.new(), node) if id(node) == self.place else super().generic_visit(node)


def faults(owner: str, function: FunctionType, places: Callable[[ast.AST], Places] = sites) -> list[Fault]:
    """Every fault of one function that compiles to the same free names."""
    source = inspect.getsource(function)
    indent = len(source) - len(source.lstrip())
    tree = ast.parse("\n".join(line[indent:] for line in source.splitlines()))
    found = []
    for number in range(sum(1 for _ in places(tree))):
        changed = copy.deepcopy(tree)
        node, kind, new = list(places(changed))[number]
        body = ast.fix_missing_locations(_Replace(id(node), new).visit(changed)).body[0]
        body.decorator_list = []
        space = dict(function.__globals__)
        flags = function.__code__.co_flags & 0x1000000  # annotations stay text
        exec(compile(ast.Module([body], []), function.__code__.co_filename, "exec", flags, True), space)
        code = space[function.__name__].__code__
        if code.co_freevars == function.__code__.co_freevars:
            line = function.__code__.co_firstlineno + getattr(node, "lineno", 1) - 1
            found.append(Fault(owner, function, number, kind, line, ast.unparse(node)[:70], code))
    return found


class Durations:
    """Seconds of each test, its parameters and fixtures together, written to a file at the end."""

    def __init__(self, path: str) -> None:
        self.path, self.seconds = path, Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add a phase of one test."""
        self.seconds[report.nodeid.partition("[")[0]] += report.duration

    def pytest_sessionfinish(self) -> None:
        """Write them."""
        Path(self.path).write_text(json.dumps(self.seconds))


def forked(tests: list[str], fault: Fault | None, seconds: int, plugins: list[object]) -> int:
    """Exit code of the tests in a process of their own: 0 passed, -1 out of time.

    What the parent has loaded, the child need not load: test files are imported there once, run here.
    """
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        hole = os.open(os.devnull, os.O_WRONLY)
        os.dup2(hole, 1)
        os.dup2(hole, 2)
        if fault is not None:
            fault.function.__code__ = fault.code
        os._exit(int(pytest.main([*tests, "-x", *OPTIONS], plugins)))
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return -1 if os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL) else 1
    return os.WEXITSTATUS(status)


def durations(tests: list[str]) -> dict[str, float]:
    """Seconds of each test on sound code; all must pass."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/seconds"
        code = forked(tests, None, 1200, [Durations(path)])
        if code != 0:
            raise SystemExit(f"the rows' tests do not pass on sound code: exit {code}")
        found: dict[str, float] = json.loads(Path(path).read_text())
    return found


def drawn(mutants: int, seed: int, tests: dict[str, set[str]]) -> list[Fault]:
    """As many faults at random, in turn one of each function: one with many lines counts for no more than others."""
    pool: list[Fault] = []
    for name in sorted(tests):
        pool += [fault for function in functions(name) for fault in faults(name, function)]
    unique = {(fault.function, fault.number): fault for fault in reversed(pool)}
    ordered = sorted(unique.values(), key=lambda fault: (fault.owner, fault.function.__name__, fault.number))
    random.Random(seed).shuffle(ordered)
    turns: Counter[str] = Counter()
    ranked = []
    for fault in ordered:
        ranked.append((turns[fault.owner], len(ranked), fault))
        turns[fault.owner] += 1
    chosen = [fault for *_, fault in sorted(ranked, key=lambda entry: entry[:2])[:mutants]]
    print(f"{len(ordered)} faults of {len(turns)} functions; {len(chosen)} drawn")
    return chosen


def warmed(tests: list[str]) -> dict[str, float]:
    """Seconds of each test, all of them loaded."""
    pytest.main([*tests, "--collect-only", *OPTIONS])
    return durations(tests)


def verdict(tests: Iterable[str], fault: Fault, usual: dict[str, float]) -> str:
    """What the tests, quick ones first, say of a fault."""
    mine = sorted(tests, key=lambda test: usual[test])
    code = forked(mine, fault, int(SLOWER * sum(usual[test] for test in mine) + MORE), [])
    return {0: "survived", -1: "out of time"}.get(code, "caught")


def told(fault: Fault) -> str:
    return f"{fault.kind:6} {fault.owner} {Path(fault.code.co_filename).name}:{fault.line} {fault.text}"


def main(mutants: int = 200, seed: int = 0, part: str = ":") -> None:
    tests = by_function()
    chosen = drawn(mutants, seed, tests)
    first, last = (int(end) if end else None for end in part.split(":"))
    usual = warmed(sorted(set().union(*tests.values())))
    counts: Counter[str] = Counter()
    for number, fault in list(enumerate(chosen))[first:last]:
        found = verdict(tests[fault.owner], fault, usual)
        counts[found] += 1
        counts[f"{fault.kind}, {found}"] += 1
        print(f"{number:3} {found:11} {told(fault)}", flush=True)
    print(dict(sorted(counts.items())))


def each_row(pattern: str = "") -> None:
    table = [row for row in rows() if re.search(pattern, " ".join([row[0], *row[1]]))]
    usual = warmed(sorted({node for *_, nodes in table for node in nodes}))
    random_, counts = random.Random(0), Counter[str]()
    for statement, names, nodes in table:
        owned = [(name, function) for name in names for function in functions(name)]
        pool = [fault for one in owned for fault in faults(*one)]
        if not pool:  # a function of one line, or one that only passes on
            pool = [fault for one in owned for fault in faults(*one, results)]
        random_.shuffle(pool)
        pool.sort(key=lambda fault: "delta" not in fault.text)
        found, tried = "no fault to plant", 0
        for tried, fault in enumerate(pool[:TRIES], 1):
            found = verdict(nodes, fault, usual)
            if found == "caught":
                found = f"caught, {tried}: {told(fault)}"
                break
        counts[found.split(",")[0]] += 1
        print(f"{statement}: {found}", flush=True)
    print(dict(sorted(counts.items())))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mutants", nargs="?", default="200", help="number of faults, or the word rows")
    parser.add_argument("rest", nargs="*", metavar="seed, first:last, or pattern")
    given = parser.parse_args()
    if given.mutants == "rows":
        each_row(" ".join(given.rest))
    else:
        main(int(given.mutants), *(int(seed) for seed in given.rest[:1]), *given.rest[1:])
