"""Attacks on a release: what an adversary can learn about S, and what an analyst can still learn."""

import lazy_loader

# Files are loaded when a name of theirs is first used: few attacks need scikit-learn.
__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = ["bayes", "check", "downstream", "infer", "judge", "leave_one_out", "link"]
