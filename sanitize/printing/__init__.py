"""Released symbols printed as rows: by a model of all columns, as labels, or as real rows.

A model prints nobody's row: of the table it knows counts that many rows share, and where they are cut.
"""

from sanitize.printing._model import RowModel as RowModel
from sanitize.printing._print_table import PrintTable as PrintTable

Printer = RowModel | PrintTable

__all__ = []
