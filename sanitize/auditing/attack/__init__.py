"""Attacks on a release: what is learned of S by a bounded adversary, and of other columns by an honest analyst."""

import lazy_loader

# Files are loaded when a name of theirs is first used: few attacks need scikit-learn.
__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = ["bayes", "check", "downstream", "infer", "judge", "leave_one_out", "link"]
