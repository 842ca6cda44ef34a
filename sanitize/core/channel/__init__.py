"""Channels P_{Y|X} as chains of sparse stages, which can be built, composed and sampled exactly."""

from __future__ import annotations

from sanitize.core.channel._channel import BEST as BEST
from sanitize.core.channel._channel import HEURISTIC as HEURISTIC
from sanitize.core.channel._channel import Channel
from sanitize.core.channel._channel import ChannelForm as ChannelForm
from sanitize.core.channel._channel import Optimality as Optimality
from sanitize.core.channel._channel import Status as Status
from sanitize.core.channel._channel import check_channel as check_channel
from sanitize.core.channel._matrix import ReducedChannel as ReducedChannel
from sanitize.core.channel._matrix import channel_matrix as channel_matrix
from sanitize.core.channel._stage import SCALE as SCALE
from sanitize.core.channel._stage import SCALE_BITS as SCALE_BITS
from sanitize.core.channel._stage import Stage as Stage
from sanitize.core.channel._stage import stage_product as stage_product
from sanitize.core.channel._tuple_channel import tuple_channel as tuple_channel
from sanitize.core.channel._tuples import Tuples as Tuples

__all__ = ["Channel"]
