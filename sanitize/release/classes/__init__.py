"""Latent classes: a smooth model of the public columns, which writes each released class as a generated row."""

from sanitize.release.classes._column import ClassColumn as ClassColumn
from sanitize.release.classes._coupling import couple_classes as couple_classes
from sanitize.release.classes._fit import information as information
from sanitize.release.classes._integers import UNIT as UNIT
from sanitize.release.classes._integers import draw_listed as draw_listed
from sanitize.release.classes._integers import to_fixed_point as to_fixed_point
from sanitize.release.classes._model import LatentClassModel as LatentClassModel
from sanitize.release.classes._model import Writer as Writer
from sanitize.release.classes._model import draw_edge_shares as draw_edge_shares
from sanitize.release.classes._numbers import LEAST_ROWS as LEAST_ROWS
from sanitize.release.classes._numbers import threshold_counts as threshold_counts
from sanitize.release.classes._numbers import to_numbers as to_numbers
from sanitize.release.classes._partition import MODELLED_ROWS as MODELLED_ROWS
from sanitize.release.classes._partition import ClassPartition as ClassPartition

__all__ = []
