"""Example tables, which are bundled with the library or generated."""

import lazy_loader

# Modules are imported when one of their names is first used, because a command or a release needs few of them.
__getattr__, __dir__, _names = lazy_loader.attach_stub(__name__, __file__)

__all__ = sorted(_names)
