"""Latent classes: a smooth model of the public columns, whose classes are released and written as generated rows."""

from sanitize.classes._column import ClassColumn as ClassColumn
from sanitize.classes._coupling import couple_classes as couple_classes
from sanitize.classes._integers import UNIT as UNIT
from sanitize.classes._model import LatentClassModel as LatentClassModel
from sanitize.classes._partition import ClassPartition as ClassPartition
from sanitize.trees import Tree

# What finds the cell of a row, the public symbol of a release of many columns.
Partition = Tree | ClassPartition

__all__ = []
