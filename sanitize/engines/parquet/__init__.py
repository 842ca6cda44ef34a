"""Releases of Parquet or CSV files in bounded memory: a first pass counts, a second pass draws and writes."""

import lazy_loader

# Modules are imported when one of their names is first used: a release on the command line needs few of them.
__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = ["audit_file", "plan_file", "release_file", "release_units"]
