"""From a table to a release: roles, counts, design, rows, and what is saved of it."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
