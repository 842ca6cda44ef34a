"""Latent classes: a smooth model of the public columns, whose classes are released and written as generated rows."""

from sanitize.classes._column import ClassColumn as ClassColumn
from sanitize.classes._counts import DESIGN_SHARE as DESIGN_SHARE
from sanitize.classes._counts import GROUPS as GROUPS
from sanitize.classes._counts import Profiles as Profiles
from sanitize.classes._counts import cell_counts as cell_counts
from sanitize.classes._counts import chosen_pairs as chosen_pairs
from sanitize.classes._counts import column_counts as column_counts
from sanitize.classes._counts import design_rows as design_rows
from sanitize.classes._counts import grouped as grouped
from sanitize.classes._counts import pair_counts as pair_counts
from sanitize.classes._counts import pair_overlaps as pair_overlaps
from sanitize.classes._coupling import couple_classes as couple_classes
from sanitize.classes._fit import information as information
from sanitize.classes._integers import UNIT as UNIT
from sanitize.classes._integers import draw_listed as draw_listed
from sanitize.classes._model import LatentClassModel as LatentClassModel
from sanitize.classes._numbers import LEAST_ROWS as LEAST_ROWS
from sanitize.classes._numbers import threshold_counts as threshold_counts
from sanitize.classes._numbers import to_numbers as to_numbers
from sanitize.classes._partition import MODELLED_ROWS as MODELLED_ROWS
from sanitize.classes._partition import ClassPartition as ClassPartition

__all__ = []
