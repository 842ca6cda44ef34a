"""The way from a call to the mechanism: frames of ours on the stack, and moves between our files, traced at run time.

    python benchmarks/frames.py [--stack] [--list]

Releases the embedded Framingham table by subset merging through three doors: `SubsetMerging.fit_transform` on the
frame, `release_file` on a Parquet file, and the command ``sanitize release``; a fourth, `verify_file`, draws such a
release again by its receipt and the channel in it, and so never comes to a mechanism; so does the fifth, the page of a
report, and the sixth is an optimal response. Each runs once untraced, for what
is imported and kept at first use, and then under `sys.setprofile`: ten times, of which the one with the fewest moves is
told, because fresh noise now and then needs more bits for a draw. Printed for each door:

frames
    Functions of this package on the stack when `subset_merging` is called, itself included; functions of other
    libraries between them (scikit-learn's `fit_transform`) do not count.
moves
    Calls of the whole job whose function lies in another file of ours than the function called just before: how often
    a reader who follows the calls in order turns to another file. Lambdas, comprehensions and resumed generators are
    no calls of their own.
crossings
    Calls and returns straight from a function in one file of ours to a function in another.
functions, files
    Functions of ours, and files of ours, that the job runs through.

``--stack`` lists the frames, and ``--list`` the files.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import tempfile
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sanitize as sz
from sanitize.cli import main as command_line
from sanitize.transformers import SubsetMerging

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, FrameType

PACKAGE = Path(sz.__file__).parent
# The package, and the folders that stand elsewhere in a checkout and are linked into it.
ROOTS = (PACKAGE.resolve(), *(folder.resolve() for folder in PACKAGE.iterdir() if folder.is_symlink()))
MECHANISM = "subset_merging"
SENSITIVE, PUBLIC = "heart_disease", ("cholesterol", "blood_pressure")
NATS = 0.5
RUNS = 10


@dataclass
class Trace:
    """What one job calls, as a function for `sys.setprofile`."""

    stack: list[str] = field(default_factory=list)
    moves: int = 0
    crossings: int = 0
    files: set[str] = field(default_factory=set)
    functions: set[tuple[str, str]] = field(default_factory=set)
    _last: str | None = None
    _known: dict[str, str | None] = field(default_factory=dict)
    _entries: dict[CodeType, int] = field(default_factory=dict)

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """Note one event of the profiler."""
        if event not in ("call", "return") or (file := self._ours(frame.f_code)) is None:
            return
        caller = frame.f_back and self._ours(frame.f_back.f_code)
        if caller is not None and caller != file:
            self.crossings += 1
        if event == "return":
            return
        self.files.add(file)
        # A generator that goes on is called at another place of its code than its beginning, which was first.
        begins = frame.f_lasti == self._entries.setdefault(frame.f_code, frame.f_lasti)
        if begins and not frame.f_code.co_name.startswith("<"):
            self.functions.add((file, frame.f_code.co_qualname))
            self.moves += self._last not in (None, file)
            self._last = file
            if not self.stack and is_mechanism(frame.f_code, file):
                self.stack = self._names(frame)

    def _ours(self, code: CodeType) -> str | None:
        """File of the package that holds this code, under the path that it really has."""
        name = code.co_filename
        if name not in self._known:
            # Methods that dataclasses generate name no file.
            real = Path(name).resolve() if name.endswith(".py") else Path(name)
            self._known[name] = str(real) if any(real.is_relative_to(root) for root in ROOTS) else None
        return self._known[name]

    def _names(self, frame: FrameType | None) -> list[str]:
        """Functions of ours on the stack, the outermost first."""
        found = []
        while frame is not None:
            if (file := self._ours(frame.f_code)) is not None:
                found.append(f"{frame.f_code.co_qualname} in {inside(file)}")
            frame = frame.f_back
        return found[::-1]


def is_mechanism(code: CodeType, file: str) -> bool:
    """Whether this is the mechanism itself, and not a door of its name."""
    return code.co_qualname == MECHANISM and Path(file).is_relative_to(ROOTS[0] / "mechanisms")


def inside(file: str) -> str:
    """Path of a file from the folder that holds its root."""
    root = next(root for root in ROOTS if Path(file).is_relative_to(root))
    return str(Path(file).relative_to(root.parent))


def sanitizer() -> SubsetMerging:
    return SubsetMerging(sz.LiftBudget.symmetric(NATS), sensitive=SENSITIVE, public=list(PUBLIC))


def doors(folder: Path) -> dict[str, Callable[[], Any]]:
    """The jobs; each run of a release writes a file of its own."""
    df = sz.datasets.load_framingham()
    raw, numbers = folder / "raw.parquet", count()
    df.to_parquet(raw)
    settings = [
        "-s",
        SENSITIVE,
        *(word for name in PUBLIC for word in ("-x", name)),
        "--lower",
        str(NATS),
        "--upper",
        str(NATS),
    ]

    def target() -> Path:
        return folder / f"released-{next(numbers)}.parquet"

    def command() -> None:
        with contextlib.redirect_stdout(io.StringIO()):
            assert command_line(["release", str(raw), "-o", str(target()), *settings]) == 0

    released, receipt = target(), folder / "private" / "receipt"
    receipt.parent.mkdir()
    report = sz.release_file(raw, released, sanitizer(), receipt=receipt)
    joint = sz.JointDistribution.from_frame(df, SENSITIVE, list(PUBLIC))
    return {
        "fit_transform": lambda: sanitizer().fit_transform(df),
        "release_file": lambda: sz.release_file(raw, target(), sanitizer()),
        "sanitize release": command,
        "verify_file": lambda: sz.verify_file(released, raw, sanitizer(), receipt=receipt).require(),
        "to_html": report.to_html,
        "optimal response": lambda: sz.optimal_random_response(joint, sz.LiftBudget.symmetric(NATS)),
    }


def traced(job: Callable[[], Any]) -> Trace:
    """The run with the fewest moves, after one that is not traced."""
    job()
    return min((one_run(job) for _ in range(RUNS)), key=lambda trace: trace.moves)


def one_run(job: Callable[[], Any]) -> Trace:
    trace = Trace()
    sys.setprofile(trace)
    try:
        job()
    finally:
        sys.setprofile(None)
    return trace


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stack", action="store_true", help="list the frames, the outermost first")
    parser.add_argument("--list", action="store_true", help="list the files")
    given = parser.parse_args()
    print(f"{'':20}{'frames':>8}{'moves':>8}{'crossings':>11}{'functions':>11}{'files':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for name, job in doors(Path(folder)).items():
            trace = traced(job)
            sizes = f"{trace.crossings:>11}{len(trace.functions):>11}{len(trace.files):>8}"
            print(f"{name:20}{len(trace.stack):>8}{trace.moves:>8}{sizes}")
            if given.stack:
                print("".join(f"    {frame}\n" for frame in trace.stack), end="")
            if given.list:
                print("".join(f"    {inside(file)}\n" for file in sorted(trace.files)), end="")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
