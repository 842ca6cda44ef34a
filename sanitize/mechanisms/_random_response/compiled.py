"""Inner loops compiled by numba, where it is installed (extra ``fast``); without it NumPy does the same work.

A module of loops imports numba at its top and is itself imported from here only, so that nobody pays for it
who does not use it.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType


@cache
def loops(module: str) -> ModuleType | None:
    """A module of compiled loops; None where there is no numba, or none that works here.

    It refuses versions of NumPy newer than itself, folders in which it can keep nothing, and now and then code that
    an older or a newer one takes: NumPy does the work then.
    """
    try:
        return importlib.import_module(module)
    except Exception:
        return None
