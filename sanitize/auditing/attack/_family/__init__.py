"""Attacks that `judge` runs; it reports the strongest."""

from __future__ import annotations

from sanitize.auditing.attack._family.membership import (
    CalibratedNearestRow,
    Differencing,
    NearestRow,
    Neighbourhood,
    PairDensity,
    RarePairs,
    ShadowReleases,
    SinglingOut,
    TreeDensity,
    ValueDensity,
)
from sanitize.auditing.attack._family.promised import (
    AllColumns,
    Classifier,
    Copies,
    KnownColumns,
    LinearReconstruction,
    Linkability,
    RestOfRecord,
    SingleCopies,
)

# The four groups serve readers only: `judge` runs all attacks and sorts them by their results.
_COPIES = (Copies(), SingleCopies(), Linkability(), RestOfRecord())
_INFERENCE = (KnownColumns(), AllColumns(), Classifier(), LinearReconstruction())
_DISTANCES = (SinglingOut(), NearestRow(), CalibratedNearestRow(), Neighbourhood())
_DENSITIES = (ValueDensity(), RarePairs(), PairDensity(), TreeDensity())
FAMILY = (*_COPIES, *_INFERENCE, *_DISTANCES, *_DENSITIES, Differencing(), ShadowReleases())
