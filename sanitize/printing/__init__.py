"""Released symbols printed as rows: by a model of all columns, as labels, or as real rows.

A model prints nobody's row: of the table it knows counts that many rows share, and where they are cut.
"""

from sanitize.printing._model import MODELLED_ROWS as MODELLED_ROWS
from sanitize.printing._model import RowModel
from sanitize.printing._plain import Printer, printer_from_plain, printer_to_plain
from sanitize.printing._print_table import PrintTable

__all__ = ["PrintTable", "Printer", "RowModel", "printer_from_plain", "printer_to_plain"]
