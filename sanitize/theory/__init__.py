"""Notions of privacy, and theorems about them, that the rest of the library does not use."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
