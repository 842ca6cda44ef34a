"""The family of attacks: each an object with one method, of which `judge` takes the worst."""

from __future__ import annotations

from sanitize.auditing.attack._family.copies import Copies, SingleCopies
from sanitize.auditing.attack._family.density import PairDensity, TreeDensity
from sanitize.auditing.attack._family.differencing import Differencing
from sanitize.auditing.attack._family.inference import AllColumns, Classifier, KnownColumns
from sanitize.auditing.attack._family.linkability import Linkability, RestOfRecord
from sanitize.auditing.attack._family.nearest_row import CalibratedNearestRow, NearestRow, Neighbourhood
from sanitize.auditing.attack._family.rare_pairs import RarePairs
from sanitize.auditing.attack._family.reconstruction import LinearReconstruction
from sanitize.auditing.attack._family.shadow_releases import ShadowReleases
from sanitize.auditing.attack._family.singling_out import SinglingOut
from sanitize.auditing.attack._family.value_density import ValueDensity

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
