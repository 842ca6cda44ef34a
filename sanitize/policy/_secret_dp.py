"""Secrets under differential privacy, as a policy writes them, and the keys that do not go with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sanitize.errors import InvalidParameter, PolicyError
from sanitize.policy import _reader as keys

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sanitize._release.designers.secret_dp import SecretDP

KEY = "secret_dp"
_EXAMPLE = '{ eps = 1.0, delta = 1e-6, values = { income = ["low", "high"] } }'
_LEVELS = {"eps": keys.number(0, open_ends=True, finite=True), "delta": keys.number(0, 1, open_ends=True)}


def _values(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list) or not value or not all(isinstance(one, (str, int, float)) for one in value):
        raise keys.refuse(where, "an array of texts, numbers or booleans", value, 'write for example ["low", "high"]')
    return value


_BY_COLUMN = keys.by_column(
    keys.Form(_values, {"type": "array", "minItems": 1, "items": {"type": ["string", "number", "boolean"]}})
)


def _read(value: Any, where: str) -> SecretDP:
    from sanitize._release.designers.secret_dp import SecretDP

    section = keys.table(value, where)
    eps = section.need("eps", _LEVELS["eps"], "eps = 1.0 (nats)")
    delta = section.need("delta", _LEVELS["delta"], "delta = 1e-6")
    values = section.take("values", _BY_COLUMN) or {}
    section.done()
    try:
        return SecretDP(eps, delta, values)
    except InvalidParameter as error:
        raise PolicyError(f"{where}: {error}", where) from None


SECRET_DP = keys.Form(
    _read,
    {
        "type": "object",
        "required": list(_LEVELS),
        "additionalProperties": False,
        "properties": {**{key: form.schema for key, form in _LEVELS.items()}, "values": _BY_COLUMN.schema},
    },
).said(f"Differential privacy of each row's secret, of noisy counts, for example {_EXAMPLE}; needs confidence.")


def check_secret_dp(settings: Sequence[Mapping[str, Any]], rows: str | None, ledger: str | None) -> None:
    """Refuse what would look at the secrets beside the noisy counts."""
    if not any(KEY in own for own in settings):
        return
    if not all("confidence" in own for own in settings):
        raise PolicyError("channel.secret_dp needs a confidence; write confidence = 0.95", "channel.confidence")
    if rows == "keep":
        raise PolicyError(
            'rows = "keep" is allowed after a look at every secret; leave it out with channel.secret_dp', "rows"
        )
    if ledger is not None:
        raise PolicyError(
            "ledger counts secrets without noise; leave it out with channel.secret_dp, and add up eps and delta",
            "ledger",
        )
