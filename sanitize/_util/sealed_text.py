"""Safe reading of texts and files from outside: strict JSON, arrays as text, and digests.

Arrow's format assumes trusted memory: its functions follow offsets unchecked, so a damaged array can crash the process.
So arrays are fully validated first, and compressed arrays are refused because a few bytes could expand to gigabytes.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from sanitize.errors import SourceError


class NotStrict(ValueError):
    """Error for a text that is refused; its message quotes nothing of the text."""


def strict_json(text: str | bytes) -> Any:
    """Parse a JSON text; refuse repeated names in an object and numbers too large for a double.

    JSON readers differ in which of two equal names they use, so a text with both could show one value and hide another.

    Raises
    ------
    NotStrict
        If the text is not such JSON.
    """
    try:
        words = text.decode("utf-8") if isinstance(text, bytes) else text
        return json.loads(words, object_pairs_hook=_once, parse_constant=_finite, parse_float=_finite, parse_int=_whole)
    except NotStrict:
        raise
    except (TypeError, ValueError, RecursionError):  # the error's message would quote the text
        raise NotStrict("the text is not JSON, or not in UTF-8") from None


def compute_seal(state: Mapping[str, Any]) -> str:
    """Return the SHA-256 digest of the canonical form of all fields except the seal itself, ``sha256``."""
    body = {name: value for name, value in state.items() if name != "sha256"}
    return hashlib.sha256(json.dumps(body, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    state = dict(pairs)
    if len(state) < len(pairs):
        raise NotStrict("a name occurs twice in an object")
    return state


def _whole(digits: str) -> int:
    _finite(digits)
    return int(digits)


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise NotStrict("a number is infinite, NaN or too large")
    return value


def path_digest(path: Path) -> str:
    """Return ``sha256:`` and the digest of a file's bytes, or of the list of a folder's files with their digests.

    The list of a folder has the lines that ``sha256sum`` prints for its files, sorted by name.
    """
    try:
        if path.is_dir():
            files = sorted((file.relative_to(path).as_posix(), file) for file in path.rglob("*") if file.is_file())
            lines = "".join(f"{_file_digest(file)}  {name}\n" for name, file in files)
            return f"sha256:{hashlib.sha256(lines.encode('utf-8', 'surrogateescape')).hexdigest()}"
        return f"sha256:{_file_digest(path)}"
    except OSError as error:
        raise SourceError(f"{path.name} cannot be read ({error.strerror}); check its name and permissions") from None


def _file_digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def pack_array(values: pa.Array) -> str:
    """Return an array of any type as text, without loss."""
    sink = pa.BufferOutputStream()
    batch = pa.record_batch([values], names=["v"])
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return base64.b64encode(sink.getvalue()).decode()


def unpack_array(text: str) -> pa.Array:
    """Read an array that `pack_array` wrote, from a text that anybody may have changed.

    Raises
    ------
    ValueError
        If the text is not that of one array, or the array is damaged or compressed.
    """
    try:
        content = pa.py_buffer(base64.b64decode(text, validate=True))
        _, message = pa.ipc.MessageReader.open_stream(content)  # a schema and the values, no dictionaries
        # Arrow's metadata is a flatbuffer: field 2 of a message is its content, field 3 of that its compression.
        metadata = message.metadata.to_pybytes()
        (root,) = struct.unpack_from("<I", metadata)
        place = _field(metadata, root, 2)
        (step,) = struct.unpack_from("<I", metadata, place)
        is_compressed = _field(metadata, place + step, 3) > 0  # the message declares compressed buffers
        (batch,) = [] if is_compressed else pa.ipc.open_stream(content)
        (column,) = batch.columns
        column.validate(full=True)
    except (pa.ArrowException, OSError, ValueError, TypeError, IndexError, struct.error, MemoryError):
        raise ValueError("the text is not an array that `pack_array` wrote, or it is damaged") from None
    return column


def _field(metadata: bytes, table: int, number: int) -> int:
    """Return the position of a field in a flatbuffer table, or 0 if the table lacks the field."""
    (back,) = struct.unpack_from("<i", metadata, table)
    (size,) = struct.unpack_from("<H", metadata, table - back)
    if 4 + 2 * number >= size:
        return 0
    (step,) = struct.unpack_from("<H", metadata, table - back + 4 + 2 * number)
    return table + step if step else 0
