"""SHA-256 of a file or folder, by which others know that they hold the same bytes."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from sanitize.errors import SourceError

if TYPE_CHECKING:
    from pathlib import Path


def digest_of(path: Path) -> str:
    """``sha256:`` and 64 digits: of a file its bytes, of a folder those of its files, in a list.

    A folder's is what ``sha256sum`` gives of the lines that ``sha256sum`` prints of its files, sorted by name.
    """
    try:
        if path.is_dir():
            return f"sha256:{hashlib.sha256(_manifest(path)).hexdigest()}"
        return f"sha256:{_of_file(path)}"
    except OSError as error:
        raise SourceError(f"{path.name} cannot be read ({error.strerror}); check its name") from None


def _manifest(folder: Path) -> bytes:
    files = sorted((file.relative_to(folder).as_posix(), file) for file in folder.rglob("*") if file.is_file())
    return "".join(f"{_of_file(file)}  {name}\n" for name, file in files).encode("utf-8", "surrogateescape")


def _of_file(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
