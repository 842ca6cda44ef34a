"""Releases of Parquet or CSV in bounded memory: count, then draw and write."""

import lazy_loader

# Files are loaded when a name of theirs is first used: a release on the command line needs few of them.
__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = ["audit_file", "plan_file", "release_file", "release_units"]
