"""Mutation fuzzing of everything that is read: ``python -m tests.fuzz parquet --minutes 60``.

Every mutant runs in a child process with limits on memory and time, one in eight on a disk that is full, or soon. It
must end in a release or in one line that says what is wrong; everything else is a fault, whose mutant is kept with
``--keep``. Equal seeds draw equal mutants. With ``--disk`` these run on a small file system that is filled, as
``mount -t tmpfs -o size=1m tmpfs FOLDER`` makes one; without, what is full is every file after so many bytes.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
import warnings
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fuzz.cases import KINDS
from fuzz.run import outcome_of

# Of so many mutants some are harmless.
_ENOUGH = 200
_ROOMS = (None,) * 35 + (0, 1000, 4096, 10_000, 50_000)
GOOD = ("released", "refused")


def main() -> int:
    """Run mutants, print the counts, and end with 1 where there was a fault."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("kinds", nargs="*", default=list(KINDS), help=f"some of {', '.join(KINDS)}; all by default")
    parser.add_argument("--minutes", type=float, help="how long to go on, for all kinds together")
    parser.add_argument("--count", type=int, default=200, help="mutants of each kind, without --minutes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="one mutant by its number, of the first kind")
    parser.add_argument("--keep", type=Path, help="folder for the mutants that led to a fault")
    parser.add_argument("--disk", type=Path, help="small file system to run on")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    faults = 0
    for kind in args.kinds:
        seconds = None if args.minutes is None else 60 * args.minutes / len(args.kinds)
        faults += fuzz(kind, args.seed, args.count, seconds, args.keep, args.only, args.disk)
    return 1 if faults else 0


def fuzz(
    kind: str, seed: int, count: int, seconds: float | None, keep: Path | None, only: int | None, disk: Path | None
) -> int:
    """Faults among the mutants of one kind."""
    with tempfile.TemporaryDirectory() as folder:
        here = Path.cwd()
        os.chdir(folder)  # what is mutated may be made of files
        try:
            case = KINDS[kind]()
        finally:
            os.chdir(here)
    counts: Counter[str] = Counter()
    n_full = 0
    until = None if seconds is None else time.monotonic() + seconds
    number = 0 if only is None else only
    while time.monotonic() < until if until else number < count if only is None else number == only:
        rng = Random(f"{seed} {kind} {number}")
        mutant = replace(case.draw(rng), room=rng.choice(_ROOMS))
        outcome, words = outcome_of(mutant, disk)
        counts[outcome] += 1
        n_full += mutant.room is not None
        if outcome not in GOOD or only is not None:
            print(f"{kind} {number} of seed {seed}: {outcome}\n{words}", flush=True)
            if keep is not None:
                place = keep / f"{kind}-{seed}-{number}"
                place.mkdir(parents=True, exist_ok=True)
                for name, content in mutant.files.items():
                    (place / name).write_bytes(content)
        number += 1
    if counts.total() >= _ENOUGH and not counts["released"]:
        counts["fault of the fuzzer: nothing was released"] += 1
    told = ", ".join(f"{n} {outcome}" for outcome, n in counts.most_common())
    print(f"{kind}: {counts.total()} mutants, {n_full} with little room, {told}", flush=True)
    return sum(n for outcome, n in counts.items() if outcome not in GOOD)


if __name__ == "__main__":
    sys.exit(main())
