"""Text of a channel is read as untrusted input: every place in it, every kind of value, and text that is none."""

import contextlib
import copy
import json

import numpy as np
import pytest

import sanitize as sz
from sanitize.core.channel import Channel
from sanitize.errors import InvalidChannel

JOINT = sz.JointDistribution.from_matrix(np.array([[0.2, 0.1, 0.1, 0.1], [0.05, 0.15, 0.2, 0.1]]))
VALUES = [None, True, "x", "AAAA", -1, 0, 3, 0.5, 1e300, 2**31, 2**62, 2**63, 10**400, [], [-1], [2**70], {}, [[[]]]]


def places(value, place=()):
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place, *(found for key, entry in inner for found in places(entry, (*place, key)))]


def edited(document, place, value):
    made = copy.deepcopy(document)
    inner = made
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return made


@pytest.mark.slow
@pytest.mark.parametrize(
    "channel",
    [sz.optimal_random_response(JOINT, 0.1), sz.subset_merging(JOINT, 0.1)],
    ids=["response", "merging"],
)
def test_every_edit_of_a_channel_is_refused_by_name_or_harmless(channel):
    document = json.loads(channel.to_json())
    for place in places(document)[1:]:
        for value in VALUES:
            with contextlib.suppress(InvalidChannel):
                Channel.from_json(json.dumps(edited(document, place, value)))


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a":' * 50_000, "", "\ud800", "{}", "[]", '{"x": ' + "9" * 5000 + "}"]
)
def test_text_that_is_no_channel_is_refused(text):
    with pytest.raises(InvalidChannel, match="is not a channel that this library can read"):
        Channel.from_json(text)
