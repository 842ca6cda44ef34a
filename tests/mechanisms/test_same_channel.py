"""A law and a budget give one channel in every process and on every processor; `defaults.py --digests` asks Pythons."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from typing import Any

import numpy as np

DESIGN = """
import hashlib, numpy as np, sanitize as sz
rng = np.random.default_rng(7)
cells = rng.random((3, 24)) * (rng.random((3, 24)) > 0.3) / (1 + rng.permutation(24))
cells[0] += 1e-3
joint = sz.JointDistribution.from_matrix(cells / cells.sum())
budget = sz.LiftBudget(lower=0.4, upper=0.4)
mechanisms = [sz.watchdog, sz.subset_merging, sz.optimal_random_response]
channels = [mechanism(joint, budget) for mechanism in mechanisms]
channels.append(sz.subset_random_response(joint, budget, block_size=10))
for channel in channels:
    parts = [part.tobytes() for stage in channel.stages for part in (stage.indptr, stage.indices, stage.weights)]
    print(hashlib.sha256(b"".join(parts)).hexdigest(), channel.standing.words)
"""


# Cut short in the midst of a search, where last digits decide what comes next.
CUT_SHORT = """
import hashlib, numpy as np, sanitize as sz
rng = np.random.default_rng(3)
joint = sz.JointDistribution.from_matrix((cells := rng.random((6, 70)) * (rng.random((6, 70)) > 0.1)) / cells.sum())
for budget, effort in ((sz.LiftBudget(lower=0.3, upper=0.3), 8e6), (sz.LDPBudget(0.8), 2e6)):
    channel = sz.optimal_random_response(joint, budget, effort=effort)
    stage = channel.stages[0]
    print(hashlib.sha256(stage.indices.tobytes() + stage.weights.tobytes()).hexdigest(), channel.standing.status)
"""


def designed(design: str = DESIGN, **environment: str) -> list[str]:
    """Digests of the integers that channels are made of, and what is proved of each, from a process of its own."""
    command = [sys.executable, "-c", design]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, check=True, env=os.environ | environment, timeout=300
    )
    return done.stdout.splitlines()


def test_two_processes_design_the_same_channels():
    """With other seeds of hashes, which would show where an order of sets decides, and other places in memory."""
    first = designed(PYTHONHASHSEED="1")
    assert len(first) == 4
    assert first == designed(PYTHONHASHSEED="2", PYTHONMALLOC="malloc")
    assert len(set(first)) == 4


@cache
def cut_short_here() -> list[str]:
    return designed(CUT_SHORT)


def features() -> str:
    """What NumPy has for this processor beyond its baseline."""
    known: Any = np.show_config(mode="dicts")
    return " ".join(known.get("SIMD Extensions", {}).get("found", []))


def test_a_search_that_is_cut_short_is_the_same_on_other_processors():
    """BLAS, NumPy and the C library do as on a processor of 2011: sums in another order, no products added in one."""
    here = cut_short_here()
    assert len(set(here)) == 2
    assert all(line.endswith("cut short") for line in here)
    older = {
        "OPENBLAS_CORETYPE": "Sandybridge",
        "NPY_DISABLE_CPU_FEATURES": features(),
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX512F",
    }
    assert here == designed(CUT_SHORT, **older)


def test_a_search_that_is_cut_short_is_the_same_without_compiled_loops(tmp_path):
    (tmp_path / "numba.py").write_text("raise ImportError('none here')", encoding="utf-8")
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    assert cut_short_here() == designed(CUT_SHORT, PYTHONPATH=path)
