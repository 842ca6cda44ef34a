"""Tables to try the library on: bundled with it, or generated."""

import lazy_loader

# Files are loaded when a name of theirs is first used.
__getattr__, __dir__, _names = lazy_loader.attach_stub(__name__, __file__)

__all__ = sorted(_names)
