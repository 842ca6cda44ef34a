"""Channel capacity with certified lower and upper bounds, and the largest mutual information of ε-LDP channels."""

import lazy_loader

# Each file is loaded when one of its names is first used, because a command or a release needs few of them.
__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = ["amplitude_capacity", "awgn_capacity", "channel_capacity", "dp_information_bound"]
