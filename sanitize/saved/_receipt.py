"""The receipt of a release: with it and the source the owner draws the very file again, and so can verify every byte.

It is the key of this one release, so whoever holds it undoes the noise. It stays with the source, never beside the
release, and it is no proof of how the key was chosen.
"""

from __future__ import annotations

import json
import platform
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import scipy

from sanitize._files.digest import digest_of
from sanitize._files.source import bytes_of
from sanitize._files.strict_json import NotStrict, seal_of, strict_json
from sanitize._release.designers.designer import Designer
from sanitize._release.designers.secret_dp import refuse_secret_dp
from sanitize._sampling.noise import KEY_BYTES, NoiseKey
from sanitize._version import __version__
from sanitize.channel import Channel
from sanitize.errors import InvalidParameter, SanitizeError, SourceError, TargetError
from sanitize.saved._form import own_budget

if TYPE_CHECKING:
    import os

    from sanitize._files.source import Source
    from sanitize._release.release import Release
    from sanitize._release.row_order import RowOrder
    from sanitize.saved._saved_release import SavedRelease

_FORMAT, _VERSION = "sanitize/receipt", 1
_WARNING = "Whoever holds this undoes the noise of the release. Keep it with the source, never beside the release."
_FIELDS = {"format", "version", "warning", "made_with", "rows", "source", "key", "channel", "sha256"}
_NO_SECRET_DP = "a receipt lets the release be drawn again, and the noise of the fit is forgotten; release without one"


@dataclass(frozen=True)
class Receipt:
    """What the owner of a source keeps of one release to verify it: the key of its noise, and what it was drawn from.

    `privatize_parquet` writes it (``receipt=``) and `verify_parquet` reads it; nothing in it is trusted.

    Attributes
    ----------
    key : NoiseKey
        Of this release only.
    rows : {"shuffle", "keep"}
    source : str
        ``sha256:`` and the digest of what was released.
    channel : Channel or None
        What tuples went through, since a time limit or another processor may design another one.
    made_with : dict of str to str
        Versions of the library and of what decides bytes and last digits.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import sanitize as sz
    >>> from sanitize.saved import Receipt
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> (folder / "private").mkdir()
    >>> sz.datasets.load_titanic().to_parquet(folder / "raw.parquet")
    >>> files = folder / "raw.parquet", folder / "released.parquet"
    >>> sanitizer = sz.SubsetMerging(1.0, sensitive="survived", public=["class", "sex"])
    >>> report = sz.privatize_parquet(*files, sanitizer, receipt=folder / "private" / "released.receipt")
    >>> Receipt.read(folder / "private" / "released.receipt").rows
    'shuffle'
    """

    key: NoiseKey = field(repr=False)
    rows: str
    source: str
    channel: Channel | None
    made_with: dict[str, str]

    @classmethod
    def begin(cls, source: Source, sanitizer: Designer | SavedRelease, rows: RowOrder, key: bytes | None) -> Receipt:
        """A receipt for a release that is still to be drawn, with the key to draw it by.

        Raises
        ------
        InvalidParameter
            If such a release cannot be drawn again.
        """
        if not isinstance(sanitizer, Designer):
            raise InvalidParameter("a saved release has no receipt: it is applied to other rows than it was fitted on")
        refuse_secret_dp(sanitizer, _NO_SECRET_DP)
        known = sanitizer.random_state if key is None else NoiseKey(key)
        if isinstance(known, bytes):
            known = NoiseKey(known)
        if not (known is None or isinstance(known, NoiseKey)):
            raise InvalidParameter(
                "a receipt needs noise of a key: leave random_state out, or give a NoiseKey; whoever guesses a seed "
                "undoes the noise, and a NumPy Generator cannot draw again"
            )
        digest = digest_of(source.root)
        whole = NoiseKey.from_system() if known is None else known
        return cls(whole.of_release(f"{_FORMAT} {rows} {digest}"), rows, digest, None, _versions())

    def to_json(self, release: Release) -> str:
        """The text of the receipt of a release that was designed.

        Raises
        ------
        InvalidParameter
            If its budget is not one of the library's, so that no policy can name it.
        """
        own_budget(release.recipe.budget)
        state = {
            "format": _FORMAT,
            "version": _VERSION,
            "warning": _WARNING,
            "made_with": self.made_with,
            "rows": self.rows,
            "source": self.source,
            "key": self.key.key.hex(),
            "channel": json.loads(release.design.channel.to_json()) if release.printer is None else None,
        }
        return json.dumps(state | {"sha256": seal_of(state)}, indent=1, allow_nan=False) + "\n"

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Receipt:
        """Receipt in a file.

        Raises
        ------
        SourceError
            If it cannot be read, is no receipt, or was changed.
        """
        file = Path(path)
        try:
            return cls._from_state(strict_json(bytes_of(file)))
        except NotStrict:
            raise SourceError(f"{file.name} is not a receipt: expected JSON of the format {_FORMAT!r}") from None
        except (KeyError, TypeError, ValueError, AttributeError, SanitizeError) as error:
            if isinstance(error, SourceError):
                raise
            raise SourceError(f"the receipt {file.name} is damaged, was changed, or is of another version") from None

    @classmethod
    def _from_state(cls, state: Any) -> Receipt:
        if not isinstance(state, dict) or state.get("format") != _FORMAT:
            raise NotStrict("another format")
        key, made_with = bytes.fromhex(state["key"]), state["made_with"]
        sound = set(state) == _FIELDS and state["version"] == _VERSION and state["sha256"] == seal_of(state)
        sound = sound and len(key) == KEY_BYTES and state["rows"] in ("shuffle", "keep")
        sound = sound and isinstance(state["source"], str) and isinstance(made_with, dict)
        if not (sound and all(isinstance(value, str) for pair in made_with.items() for value in pair)):
            raise ValueError
        channel = None if state["channel"] is None else Channel.from_json(json.dumps(state["channel"]))
        return cls(NoiseKey(key), state["rows"], state["source"], channel, made_with)

    @property
    def other_versions(self) -> str:
        """What it was made with that is of another version here, in words; empty where nothing is."""
        here = _versions()
        return ", ".join(
            f"{name} {version} ({here.get(name, 'none')} here)"
            for name, version in sorted(self.made_with.items())
            if here.get(name) != version
        )


def check_place(receipt: Path, target: Path | None) -> None:
    """Refuse a receipt beside the release, or inside it: who gets the folder would undo the noise."""
    there = receipt.resolve()
    if target is not None and (there.parent == target.resolve().parent or target.resolve() in there.parents):
        raise TargetError(
            f"the receipt {receipt.name} would lie beside the release, and whoever holds both undoes the noise; name a "
            "folder that is not handed out"
        )


def _versions() -> dict[str, str]:
    modules = {"sanitize": __version__, "numpy": np.__version__, "scipy": scipy.__version__, "pyarrow": pa.__version__}
    return {**modules, "processor": platform.machine()}
