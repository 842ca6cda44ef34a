"""Mechanisms that design channels, one algorithm per file, each a function ``(joint, budget, ...) -> Channel``."""

import lazy_loader

# Each file is loaded when one of its names is first used, because a command-line release needs few of them.
__getattr__, __dir__, _names = lazy_loader.attach_stub(__name__, __file__)

# Names in the stub that are not public: helpers for other packages, and types that calls return.
_FOR_ROOMS = {
    *("Method", "RandomResponse", "as_lift_budget", "certified_merging", "certified_random_response"),
    *("least_shown", "product_channel", "rows_needed"),
}
__all__ = sorted(set(_names) - _FOR_ROOMS)
