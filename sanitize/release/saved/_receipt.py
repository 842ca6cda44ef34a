"""Receipt of a release: with it and the original table, the owner can draw the same file and verify every byte.

The receipt holds the key of this one release, so anyone who has it can remove the noise. Keep it with the original
table, never with the release. A receipt does not prove how the key was chosen.
"""

from __future__ import annotations

import hashlib
import platform
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
import pyarrow as pa
import scipy

from sanitize._util.declared import Declared, Digest, SchemaError, Version1, read_sealed, seal_text
from sanitize._util.sampling.noise import HiddenText, NoiseKey, hidden, is_secure, random_words
from sanitize._util.sealed_text import path_digest
from sanitize._version import __version__
from sanitize.core.channel import Channel, ChannelForm
from sanitize.errors import InvalidChannel, InvalidParameter, SourceError, TargetError
from sanitize.release.classes import ClassPartition
from sanitize.release.designer import Designer, refuse_noisy
from sanitize.release.first_pass import RowOrder
from sanitize.release.saved._form import own_budget
from sanitize.tables.files.open import to_path
from sanitize.tables.files.source import read_small_file

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from sanitize.release.release import FittedRelease
    from sanitize.tables.files.source import Source

# Stands in the file, because whoever opens it may not know the documentation.
_WARNING = (
    "Anyone who has this can undo the noise of the release. Keep it with the raw table, never next to the release."
)
# A receipt would promise what it cannot keep, so the error gives the reason.
_NO_SECRET_DP = (
    "verify cannot draw this release again, because the noise of the fit is not stored; release without a receipt"
)


class _ReceiptForm(Declared, frozen=True, eq=False):
    format: Literal["sanitize/receipt"]
    version: Version1
    warning: str
    made_with: dict[str, str]
    rows: RowOrder
    source: str
    key: Digest
    channel: ChannelForm
    classes: ClassPartition | None
    sha256: str

    def __repr__(self) -> str:
        return "_ReceiptForm()"


@dataclass(frozen=True)
class Receipt:
    """Receipt with which the owner verifies one release: the key of the noise, and the inputs of the draw.

    `release_file` writes it (``receipt=``) and `verify_file` reads it; nothing in it is trusted.

    Attributes
    ----------
    key : NoiseKey
        Key of this release only.
    rows : {"shuffle", "keep"}
    source : str
        ``sha256:`` and the digest of the original table.
    channel : Channel or None
        Channel of the release, because a time limit or another processor may lead to another design.
    made_with : dict of str to str
        Versions of the library and of the packages that determine bytes and last digits.
    digest : str
        SHA-256 of the file from which the receipt was read.
    classes : ClassPartition or None
        Latent classes of the rows, because another processor may fit others.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import sanitize as sz
    >>> from sanitize.release.saved import Receipt
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> (folder / "private").mkdir()
    >>> sz.datasets.load_titanic().to_parquet(folder / "raw.parquet")
    >>> files = folder / "raw.parquet", folder / "released.parquet"
    >>> sanitizer = sz.SubsetMerging(sz.LiftBudget.symmetric(1.0), sensitive="survived", public=["class", "sex"])
    >>> report = sz.release_file(*files, sanitizer, receipt=folder / "private" / "released.receipt")
    >>> Receipt.read(folder / "private" / "released.receipt").rows
    'shuffle'
    """

    key: NoiseKey = field(repr=False)
    rows: RowOrder
    source: str
    channel: Channel | None
    made_with: dict[str, str]
    digest: str = ""
    classes: ClassPartition | None = field(default=None, repr=False)

    @classmethod
    def begin(cls, source: Source, sanitizer: object, rows: RowOrder, key: bytes | None) -> Receipt:
        """Make the receipt of a release that is still to be drawn, with a key for its noise.

        Raises
        ------
        InvalidParameter
            If the release could not be drawn again.
        """
        key = hidden(key)
        refuse_noisy(sanitizer, _NO_SECRET_DP)
        randomness = sanitizer.recipe().random_state if key is None and isinstance(sanitizer, Designer) else key
        if not is_secure(randomness):
            raise InvalidParameter(
                "a receipt needs random_state=None or a NoiseKey: a seed can be guessed, and a RandomState cannot "
                "repeat its draws"
            )
        whole, digest = random_words(randomness), digest_of_source(source)
        return cls(whole.release_key(f"sanitize/receipt {rows} {digest}"), rows, digest, None, _versions())

    def to_json(self, release: FittedRelease) -> str:
        """Return the receipt of a designed release as text.

        Raises
        ------
        InvalidParameter
            If the budget is not of a class of the library, so that no policy can name it.
        """
        own_budget(release.budget)
        drawn_from = release.channel.form(), release.classes
        contents = self.made_with, self.rows, self.source, self.key.key.hex(), *drawn_from
        return HiddenText(seal_text(_ReceiptForm("sanitize/receipt", 1, _WARNING, *contents, "")))

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Receipt:
        """Read a receipt from a file.

        Raises
        ------
        SourceError
            If the file cannot be read, is no receipt, or was changed.
        """
        file = to_path(path, SourceError)
        try:
            content = hidden(read_small_file(file))
            form = read_sealed(_ReceiptForm, content)
            key, digest = NoiseKey(bytes.fromhex(form.key)), hashlib.sha256(content).hexdigest()
            return cls(key, form.rows, form.source, form.channel.channel(), form.made_with, digest, form.classes)
        except (SchemaError, InvalidChannel) as error:
            raise SourceError(f"{file.name} is not a receipt that can be used here: {error}") from None

    @property
    def other_versions(self) -> str:
        """Describe the packages whose versions differ from the receipt; empty if there are none."""
        installed = _versions()
        return ", ".join(
            f"{name} {version} ({installed.get(name, 'none')} here)"
            for name, version in sorted(self.made_with.items())
            if installed.get(name) != version
        )


def digest_of_source(source: Source) -> str:
    """Digest of the bytes of a table's files, which distinguishes the table from others.

    Raises
    ------
    InvalidParameter
        If the table is not a file or folder.
    """
    if not source.is_on_disk:
        raise InvalidParameter(
            "a receipt identifies the table by the bytes of its files, and this table has none; write the table to a "
            "file, and release the file"
        )
    return path_digest(source.root)


def check_place(receipt: Path, target: Path | None) -> None:
    """Refuse a receipt inside or next to the release, because anyone who gets the folder could remove the noise."""
    resolved = receipt.resolve()
    if target is not None and (resolved.parent == target.resolve().parent or target.resolve() in resolved.parents):
        raise TargetError(
            f"the receipt {receipt.name} would be next to the release, and anyone who has both can remove the noise; "
            "name a private folder"
        )


def _versions() -> dict[str, str]:
    modules = {"sanitize": __version__, "numpy": np.__version__, "scipy": scipy.__version__, "pyarrow": pa.__version__}
    return {**modules, "processor": platform.machine()}
