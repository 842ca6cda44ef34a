"""Compressed files as streams of their content; the compression is detected from the first bytes."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import lzma
import zipfile
from collections.abc import Iterator
from typing import BinaryIO, cast

from sanitize.errors import SourceError

# The longest magic number, of xz, has six bytes.
_HEAD_BYTES = 6


@contextlib.contextmanager
def open_unpacked(plain: BinaryIO, name: str) -> Iterator[BinaryIO]:
    """Open the content of a file, which is decompressed piece by piece.

    Raises
    ------
    SourceError
        If the file is an archive with several files or with a password.
    """
    head = plain.read(_HEAD_BYTES)
    plain.seek(0)
    with contextlib.ExitStack() as stack:
        if head.startswith(b"\x1f\x8b"):
            yield cast(BinaryIO, stack.enter_context(gzip.GzipFile(fileobj=plain, mode="rb")))
        elif head.startswith(b"BZh"):
            yield cast(BinaryIO, stack.enter_context(bz2.BZ2File(plain)))
        elif head.startswith(b"\xfd7zXZ\x00"):
            yield cast(BinaryIO, stack.enter_context(lzma.LZMAFile(plain)))
        elif head.startswith(b"PK\x03\x04"):
            yield cast(BinaryIO, stack.enter_context(_member(stack.enter_context(zipfile.ZipFile(plain)), name)))
        else:
            yield plain


def _member(archive: zipfile.ZipFile, name: str) -> contextlib.AbstractContextManager[object]:
    """Return the only file in an archive."""
    # Archives made on a Mac also contain notes about their files.
    files = [info for info in archive.infolist() if not info.is_dir() and not info.filename.startswith("__MACOSX/")]
    if len(files) != 1:
        raise SourceError(f"{name} contains {len(files)} files; unpack it, and name the file with the table")
    if files[0].flag_bits & 1:
        raise SourceError(f"{name} is encrypted; unpack it first")
    return archive.open(files[0])
