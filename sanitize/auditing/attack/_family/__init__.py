"""Family of attacks, of which `judge` reports the strongest; each is an object with one method."""

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

FAMILY = (
    Copies(),
    SingleCopies(),
    Linkability(),
    RestOfRecord(),
    KnownColumns(),
    AllColumns(),
    Classifier(),
    LinearReconstruction(),
    SinglingOut(),
    NearestRow(),
    CalibratedNearestRow(),
    Neighbourhood(),
    ValueDensity(),
    RarePairs(),
    PairDensity(),
    TreeDensity(),
    Differencing(),
    ShadowReleases(),
)
