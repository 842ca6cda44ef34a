"""Release policy in TOML, for review: every column with its role, the budget, and how the channels are designed."""

import lazy_loader

# Files are loaded when a name of theirs is first used: a release on the command line needs few of them.
__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = ["Policy"]
