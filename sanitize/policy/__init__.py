"""Release policies in TOML, which people review: the role of every column, the budget, and settings of the channels."""

import lazy_loader

# Modules are imported when one of their names is first used: a release on the command line needs few of them.
__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = ["Policy"]
