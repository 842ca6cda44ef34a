"""Code of the documentation's pages: ``pycon`` and ``console`` blocks run in order, as a reader would."""

from __future__ import annotations

import ast
import contextlib
import doctest
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
import tomllib
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sanitize.cli import main

FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


@dataclass(frozen=True)
class Block:
    """One fenced block: what it is, what it holds and the line of the page it starts on."""

    kind: str
    text: str
    line: int


def blocks(page: Path) -> list[Block]:
    """Fenced blocks of a page; directives of the site generator are not among them."""
    text = page.read_text(encoding="utf-8")
    return [Block(m[1], m[2], text.count("\n", 0, m.start()) + 2) for m in FENCE.finditer(text)]


def commands(block: Block) -> list[tuple[str, str]]:
    """Commands of a console block, each with the output printed under it."""
    found: list[list[str]] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            found.append([line[2:], ""])
        elif found and found[-1][0].endswith("\\"):
            found[-1][0] += "\n" + line
        else:
            found[-1][1] += line + "\n"
    return [(command, output) for command, output in found]


def examples(block: Block) -> list[doctest.Example]:
    """Examples of a pycon block. Printed blank lines stand as they are, without doctest's mark."""
    text = re.sub(r"^\n(?!>>>|\Z)", "<BLANKLINE>\n", block.text, flags=re.MULTILINE)
    return doctest.DocTestParser().get_examples(text)


def run_command(command: str, folder: Path) -> str:
    """What a command prints, on both streams, with this environment's programs first on the path.

    The program `sanitize` at the start of a command runs in this process, whose imports are made; what comes after it
    gets its output and exit code from a stand-in. That the program starts by its name is for the tests of the command.
    """
    given, path = "", os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    if ours := re.fullmatch(r"sanitize ((?:[^|;&<>$`\\]|\\\n)*)(.*)", command, re.DOTALL):
        given, code = _run_main(shlex.split(ours[1].replace("\\\n", "")), folder)
        command = f"(cat; exit {code}) {ours[2]}"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env={**os.environ, "PATH": path, "NO_COLOR": "1"},
        input=given,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.stdout


def _run_main(arguments: list[str], folder: Path) -> tuple[str, int]:
    """What the program prints on both streams, and its exit code."""
    out = io.StringIO()
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(out),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("default")
        code = main(arguments)
    return out.getvalue(), code


def run(page: Path, folder: Path) -> list[str]:
    """Run a page in a folder that is also the current one; what went otherwise than printed."""
    wrong: list[str] = []
    names: dict[str, Any] = {"__name__": "__main__"}
    runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    for block in blocks(page):
        if block.kind == "pycon":
            test = doctest.DocTest(examples(block), names, page.name, str(page), block.line, None)
            runner.run(test, out=wrong.append, clear_globs=False)
            names = test.globs
        elif block.kind == "console":
            for command, expected in commands(block):
                printed = run_command(command, folder)
                if not doctest.OutputChecker().check_output(expected, printed, FLAGS):
                    wrong.append(f"{page.name}:{block.line}: $ {command}\nprinted\n{printed}\ninstead of\n{expected}")
        elif block.kind == "python":
            ast.parse(block.text)
        elif block.kind == "toml":
            tomllib.loads(block.text)
            if named := re.match(r"# (\w+\.toml)\n", block.text):
                (folder / named[1]).write_text(block.text, encoding="utf-8")
    return wrong


def printed(example: doctest.Example, names: dict[str, Any]) -> str:
    """What an example prints now; what the page says, where that still matches."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            exec(compile(example.source, "<page>", "single"), names)
        except Exception as error:
            if example.exc_msg is None:
                raise
            module = type(error).__module__.removeprefix("builtins")
            name = f"{module}.{type(error).__qualname__}".lstrip(".")
            out.write(f"Traceback (most recent call last):\n    ...\n{name}: {error}\n")
    same = doctest.OutputChecker().check_output(example.want, out.getvalue(), FLAGS)
    return example.want.replace("<BLANKLINE>", "") if same else out.getvalue()


def accept(page: Path, folder: Path) -> None:
    """Write into a page what its code prints now. Read the difference before it is committed."""
    names: dict[str, Any] = {"__name__": "__main__"}

    def again(found: re.Match[str]) -> str:
        block, lines = Block(found[1], found[2], 0), []
        if block.kind == "pycon":
            for example in examples(block):
                source = example.source.splitlines()
                lines += [f"{'...' if i else '>>>'} {line}".rstrip() + "\n" for i, line in enumerate(source)]
                lines.append(printed(example, names))
        elif block.kind == "console":
            for command, expected in commands(block):
                now = run_command(command, folder)
                same = doctest.OutputChecker().check_output(expected, now, FLAGS)
                lines += [f"$ {command}\n", expected if same else now]
        else:
            if named := re.match(r"# (\w+\.toml)\n", block.text):
                (folder / named[1]).write_text(block.text, encoding="utf-8")
            lines = [block.text]
        return f"```{block.kind}\n{''.join(lines)}```"

    page.write_text(FENCE.sub(again, page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":  # python tests/pages.py docs/guide/report.md ...
    for path in [Path(argument).resolve() for argument in sys.argv[1:]]:
        with tempfile.TemporaryDirectory() as made, contextlib.chdir(made):
            accept(path, Path(made))
