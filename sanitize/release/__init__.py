"""Releases of tables: roles of columns, counts, design of the channel, released rows, and saved releases."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
