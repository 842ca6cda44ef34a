"""A stream as a file without a name: it can be read twice, and nothing of it stays behind."""

from __future__ import annotations

import io
import os
import shutil
import tempfile
from typing import TYPE_CHECKING, BinaryIO

from sanitize._files.outputs import temporary_place
from sanitize.errors import SourceError

if TYPE_CHECKING:
    from typing import Self

    from _typeshed import WriteableBuffer

_COPY_BYTES = 1 << 20


class Spool:
    """Copy of a stream in an unnamed temporary file, readable by this process only.

    The file has no name, from its start where the system allows it, so it is gone when the process ends, however
    it ends. It takes room in the folder for temporary files (``TMPDIR``).
    """

    name = "the input stream"

    def __init__(self, stream: BinaryIO) -> None:
        self._file = tempfile.TemporaryFile(dir=temporary_place())  # noqa: SIM115 - it lives as long as the spool
        try:
            shutil.copyfileobj(stream, self._file, _COPY_BYTES)
            self._file.flush()
        except OSError as error:
            self._file.close()
            raise SourceError(f"{self.name} cannot be kept in a temporary file ({error.strerror})") from None
        except BaseException:
            self._file.close()
            raise

    def open(self) -> BinaryIO:
        """A reader of its own position, from the start."""
        return io.BufferedReader(_Reader(self._file.fileno()), _COPY_BYTES)

    def close(self) -> None:
        """Give the room back."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Reader(io.RawIOBase):
    """Positioned reads of a descriptor that stays open."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._position}.get(whence)
        self._position = offset + (os.fstat(self._descriptor).st_size if base is None else base)
        return self._position

    def tell(self) -> int:
        return self._position

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer).cast("B")
        got = os.pread(self._descriptor, len(view), self._position)
        view[: len(got)] = got
        self._position += len(got)
        return len(got)
