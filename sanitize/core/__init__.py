"""Distributions, channels, lifts, measures and budgets, with the theorems that relate them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
