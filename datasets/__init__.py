"""Tables to try the library on: bundled with it, generated, or fetched and checked against a digest."""

import lazy_loader

# Files are loaded when a name of theirs is first used: nothing that is bundled needs what fetches.
__getattr__, __dir__, _names = lazy_loader.attach_stub(__name__, __file__)

__all__ = sorted(set(_names) - {"SOURCES"})
