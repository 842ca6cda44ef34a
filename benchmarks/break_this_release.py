"""Three public releases to break, and the score of an attack on fresh ones of the same kind: the page of that name.

    python benchmarks/break_this_release.py make docs/_static/break
    python benchmarks/break_this_release.py score my_attack.py --draws 5

`make` writes the files. Their people are 2,000 of the bundled survey, drawn by keys that are kept nowhere, as are
those of the noise: so nobody knows who is in them. `score` draws 2,000 other people and 2,000 outsiders for each draw,
makes the three releases anew, and lets `sanitize.attack.judge` try the library's attacks and the attacks of the file,
which are all subclasses of `sanitize.attack.Attack` in it. Set OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import sanitize as sz

SECRET = "depression"
LIMIT = sz.LiftBudget(at_most=2, at_least=0.33)
FEW = ["occupation", "shifts", "school_years"]
N = 2_000


def releases(people: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The three releases: combinations of a few columns, rows that a model writes, and rows as intervals and sets."""
    given: dict[str, Any] = {"sensitive": SECRET}
    few = sz.SubsetMerging(LIMIT, public=FEW, **given)
    generated = sz.TreeRandomResponse(LIMIT, output="model", **given)
    labels = sz.TreeMerging(LIMIT, output="label", **given)
    return {
        "combinations": sz.frame.release(people[[*FEW, SECRET]], few),
        "generated": sz.frame.release(people, generated),
        "intervals": sz.frame.release(people, labels),
    }


def drawn() -> tuple[pd.DataFrame, pd.DataFrame]:
    """People of the survey, and as many outsiders, by random numbers of the system."""
    rows = sz.datasets.load_survey()
    order = np.random.default_rng().permutation(len(rows))
    people, outsiders = (rows.iloc[order[start : start + N]].reset_index(drop=True) for start in (0, N))
    return people, outsiders


def make(folder: Path) -> None:
    """Write the three files."""
    for name, released in releases(drawn()[0]).items():
        released.to_csv(folder / f"{name}.csv", index=False)


def attacks_of(file: Path | None) -> list[sz.attack.Attack]:
    """Attacks that a file defines."""
    found = [] if file is None else runpy.run_path(str(file)).values()
    kinds = [one for one in found if isinstance(one, type) and issubclass(one, sz.attack.Attack)]
    return [kind() for kind in kinds if kind is not sz.attack.Attack]


def score(file: Path | None, draws: int) -> None:
    """Print both verdicts of each release and draw, the worst attack of the library, and each attack of the file."""
    own = attacks_of(file)
    titles = {attack.title for attack in own}
    for draw in range(draws):
        people, outsiders = drawn()
        for name, released in releases(people).items():
            found = sz.attack.judge(released, people, outsiders=outsiders, sensitive=SECRET, attacks=own)
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
