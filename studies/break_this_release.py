"""Three public releases to break, and the score of an attack on fresh ones of the same kind: the page of that name.

    python studies/break_this_release.py make docs/_static/break
    python studies/break_this_release.py score my_attack.py --draws 5

`make` writes the files. The people of each are 5,000 of the bundled survey, drawn by keys that are kept nowhere, as are
those of the noise: so nobody knows who is in them. `score` draws other people and as many outsiders for each release of
each draw, and lets `sanitize.auditing.attack.judge` try the library's attacks and the attacks of the file, which are
all subclasses of `sanitize.auditing.attack.Attack` in it. Set OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import runpy
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

import sanitize as sz
from sanitize.transformers import Sanitizer

SECRET = "depression"
LIMIT = sz.LiftBudget(at_most=2, at_least=0.33)
FEW = ["occupation", "shifts", "school_years"]
N = 5_000

RELEASES: dict[str, tuple[list[str] | None, Callable[[], Sanitizer]]] = {
    "combinations": (FEW, lambda: sz.SubsetMerging(LIMIT, sensitive=SECRET, public=FEW)),
    "generated": (None, lambda: sz.LatentClassRelease(LIMIT, sensitive=SECRET)),
    "certified": (None, lambda: sz.LatentClassRelease(LIMIT, sensitive=SECRET, confidence=0.95)),
}


def drawn(name: str) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Release of people of the survey, these people, and as many outsiders, by random numbers of the system.

    Each release has people of its own: two releases of the same people reveal more than either says.
    """
    rows = sz.datasets.load_survey()
    order = np.random.default_rng().permutation(len(rows))
    people, outsiders = (rows.iloc[order[start : start + N]].reset_index(drop=True) for start in (0, N))
    columns, sanitizer = RELEASES[name]
    released = sz.frames.release(people if columns is None else people[[*columns, SECRET]], sanitizer())
    return released, people, outsiders


def make(folder: Path) -> None:
    """Write the three files."""
    for name in RELEASES:
        drawn(name)[0].to_csv(folder / f"{name}.csv", index=False)


def attacks_of(file: Path | None) -> list[sz.auditing.attack.Attack]:
    """Attacks that a file defines."""
    found = [] if file is None else runpy.run_path(str(file)).values()
    kinds = [one for one in found if isinstance(one, type) and issubclass(one, sz.auditing.attack.Attack)]
    return [kind() for kind in kinds if kind is not sz.auditing.attack.Attack]


def score(file: Path | None, draws: int) -> None:
    """Print both verdicts of each release and draw, the worst attack of the library, and each attack of the file."""
    own = attacks_of(file)
    titles = {attack.title for attack in own}
    for draw in range(draws):
        for name in RELEASES:
            released, people, outsiders = drawn(name)
            found = sz.auditing.attack.judge(released, people, outsiders=outsiders, sensitive=SECRET, attacks=own)
            worst = next(result for result in found.results if result.title not in titles)
            print(f"draw {draw + 1}, {name}: promised {found.promised}; membership {found.membership}")
            for result in (worst, *(result for result in found.results if result.title in titles)):
                low, high = (100 * end for end in result.interval or (0.0, 0.0))
                print(f"  {result.title} ({result.claim}): {result.verdict} {low:.1f} to {high:.1f} of 100", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    tasks = parser.add_subparsers(dest="task", required=True)
    tasks.add_parser("make").add_argument("folder", type=Path)
    scored = tasks.add_parser("score")
    scored.add_argument("file", type=Path, nargs="?")
    scored.add_argument("--draws", type=int, default=5)
    given = parser.parse_args()
    if given.task == "make":
        make(given.folder)
    else:
        score(given.file, given.draws)


if __name__ == "__main__":
    main()
