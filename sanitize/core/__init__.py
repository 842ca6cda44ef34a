"""Facts and formulas: distributions, channels, lifts, measures, budgets, and what they imply."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
