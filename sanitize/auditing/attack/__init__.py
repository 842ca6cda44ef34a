"""Attacks on a release, which measure what an adversary can learn about S and what analysts can still learn."""

import lazy_loader

# Each file is loaded when one of its names is first used, because few attacks need scikit-learn.
__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = ["bayes", "check", "downstream", "infer", "judge", "leave_one_out", "link"]
