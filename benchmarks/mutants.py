"""Faults planted at random in the functions of THEOREMS.md, each held against the tests of its own rows.

Run ``python benchmarks/mutants.py [mutants] [seed] [share]`` from the root of the repository; nothing is written. A
fault is a sign (+ for -, a dropped minus), a factor (a product or quotient 5 % off), or an order (two arguments, the
sides of a difference or of a quotient), in the function that a row names or in a private function of the same file
that it calls. A share ``i/n`` of the mutants is run, for several processes.
"""

from __future__ import annotations

import ast
import copy
import importlib
import inspect
import os
import random
import re
import resource
import signal
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FunctionType

ROOMS = ("tradeoff", "bounds", "conversions", "capacity", "accounting", "individual", "notions", "lifts", "measures")
# Order does not matter to these, and what they are given by name and value is not a formula.
NO_ORDER = {"max", "min", "maximum", "minimum", "isinstance", "zip", "allclose", "array_equal", "hypot", "add"}
CHECKS = {"number", "whole_number", "nats", "check_tol", "check_size", "cast", "range", "getattr", "logaddexp"}
NAME, NODE = re.compile(r"`(sanitize\.[\w.]+)`"), re.compile(r"`(tests/[^`]+::[^`]+)`")
# Times a test may take over what it takes on sound code, and seconds on top.
SLOWER, MORE = 3, 20


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


def rows(page: str) -> dict[str, set[str]]:
    """Tests by the function that their rows name; a figure's notebook is no test of a function."""
    tests: dict[str, set[str]] = {}
    for line in page.splitlines():
        if line.startswith("|") and "::" in line:
            for name in NAME.findall(line):
                tests.setdefault(name, set()).update(node for node in NODE.findall(line) if "tests/house/" not in node)
    return {name: nodes for name, nodes in tests.items() if nodes}


def functions(name: str) -> list[FunctionType]:
    """The function or the methods of the class, and private functions of its file that they reach by name."""
    module_name, _, last = name.rpartition(".")
    found = getattr(importlib.import_module(module_name), last, None)
    if inspect.isclass(found):
        todo = [one for one in vars(found).values() if inspect.isfunction(one)]
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


def sites(tree: ast.AST) -> Iterator[tuple[ast.AST, str, Callable[[], ast.AST]]]:
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
            if isinstance(first, ast.Starred) or isinstance(second, ast.Starred):
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


def faults(owner: str, function: FunctionType) -> list[Fault]:
    """Every fault of one function that compiles to the same free names."""
    source = inspect.getsource(function)
    indent = len(source) - len(source.lstrip())
    tree = ast.parse("\n".join(line[indent:] for line in source.splitlines()))
    found = []
    for number in range(sum(1 for _ in sites(tree))):
        changed = copy.deepcopy(tree)
        node, kind, new = list(sites(changed))[number]
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


def outcome(tests: list[str], fault: Fault | None, seconds: int) -> tuple[int, float]:
    """Exit code of the tests in a process of their own (0 passed, -1 out of time), and its CPU seconds."""
    start, child = time.monotonic(), os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        hole = os.open(os.devnull, os.O_WRONLY)
        os.dup2(hole, 1)
        os.dup2(hole, 2)
        if fault is not None:
            fault.function.__code__ = fault.code
        options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "-W", "ignore::pytest.PytestWarning"]
        os._exit(int(pytest.main([*tests, *options])))
    _, status, usage = os.wait4(child, 0)
    used = usage.ru_utime + usage.ru_stime
    if os.WIFSIGNALED(status):
        return (-1 if os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL) else 1), used
    return os.WEXITSTATUS(status), max(used, time.monotonic() - start if used == 0 else used)


def main(mutants: int = 200, seed: int = 0, share: str = "0/1") -> None:
    tests = rows(Path("THEOREMS.md").read_text())
    pool: list[Fault] = []
    for name in sorted(tests):
        if name.split(".")[1] in ROOMS:
            pool += [fault for function in functions(name) for fault in faults(name, function)]
    unique = {(fault.function, fault.number): fault for fault in reversed(pool)}
    ordered = sorted(unique.values(), key=lambda fault: (fault.owner, fault.function.__name__, fault.number))
    random.Random(seed).shuffle(ordered)
    # A function with many lines counts for no more than one with few: in turn, one fault of each.
    turns: Counter[str] = Counter()
    ranked = []
    for fault in ordered:
        ranked.append((turns[fault.owner], len(ranked), fault))
        turns[fault.owner] += 1
    chosen = [fault for *_, fault in sorted(ranked, key=lambda entry: entry[:2])[:mutants]]
    part, parts = (int(number) for number in share.split("/"))
    print(f"{len(ordered)} faults of {len(turns)} functions; {len(chosen)} taken")
    counts: Counter[str] = Counter()
    usual: dict[str, float] = {}
    for fault in chosen[part::parts]:
        mine = sorted(tests[fault.owner])
        if fault.owner not in usual:
            code, usual[fault.owner] = outcome(mine, None, 600)
            if code != 0:
                print(f"NOT SOUND {fault.owner}: exit {code}", flush=True)
                continue
        code, _ = outcome(mine, fault, int(SLOWER * usual[fault.owner] + MORE))
        verdict = "survived" if code == 0 else "out of time" if code == -1 else "caught"
        counts[verdict] += 1
        counts[f"{fault.kind}, {verdict}"] += 1
        where = f"{Path(fault.code.co_filename).name}:{fault.line}"
        print(f"{verdict:11} {fault.kind:6} {fault.owner} {where} {fault.text}", flush=True)
    print(dict(sorted(counts.items())))


if __name__ == "__main__":
    arguments = sys.argv[1:]
    main(*(int(argument) for argument in arguments[:2]), *arguments[2:])
