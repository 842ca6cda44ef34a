"""Latent classes: a smooth model of the public columns, whose classes are released and written as generated rows."""

from sanitize.core.profiles import DESIGN_SHARE as DESIGN_SHARE
from sanitize.core.profiles import GROUPS as GROUPS
from sanitize.core.profiles import Profiles as Profiles
from sanitize.core.profiles import cell_counts as cell_counts
from sanitize.core.profiles import chosen_pairs as chosen_pairs
from sanitize.core.profiles import column_counts as column_counts
from sanitize.core.profiles import design_rows as design_rows
from sanitize.core.profiles import grouped as grouped
from sanitize.core.profiles import pair_counts as pair_counts
from sanitize.core.profiles import pair_overlaps as pair_overlaps
from sanitize.release.classes._column import ClassColumn as ClassColumn
from sanitize.release.classes._coupling import couple_classes as couple_classes
from sanitize.release.classes._fit import information as information
from sanitize.release.classes._integers import UNIT as UNIT
from sanitize.release.classes._integers import draw_listed as draw_listed
from sanitize.release.classes._model import LatentClassModel as LatentClassModel
from sanitize.release.classes._numbers import LEAST_ROWS as LEAST_ROWS
from sanitize.release.classes._numbers import threshold_counts as threshold_counts
from sanitize.release.classes._numbers import to_numbers as to_numbers
from sanitize.release.classes._partition import MODELLED_ROWS as MODELLED_ROWS
from sanitize.release.classes._partition import ClassPartition as ClassPartition

__all__ = []
