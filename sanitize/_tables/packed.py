"""Arrow arrays as text, and text of others as arrays that were checked before anything looks at them.

Arrow's format is made for memory that is trusted: its functions follow offsets as they are, and a damaged array ends
the process. So what is read is validated in full first, and never unpacked: a few bytes could unfold to gigabytes.
"""

from __future__ import annotations

import base64
import struct

import pyarrow as pa


def packed(values: pa.Array) -> str:
    """An array as text: of any type, and without loss."""
    sink = pa.BufferOutputStream()
    batch = pa.record_batch([values], names=["v"])
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return base64.b64encode(sink.getvalue()).decode()


def unpacked(text: str) -> pa.Array:
    """Inverse of `packed`, of a text that anybody may have written.

    Raises
    ------
    ValueError
        If it is not the text of one array, is damaged, or compressed.
    """
    try:
        content = pa.py_buffer(base64.b64decode(text, validate=True))
        _, message = pa.ipc.MessageReader.open_stream(content)  # a schema and the values, no dictionaries
        # Arrow's metadata is a flatbuffer: field 2 of a message is its content, field 3 of that its compression.
        metadata = message.metadata.to_pybytes()
        (root,) = struct.unpack_from("<I", metadata)
        place = _field(metadata, root, 2)
        (step,) = struct.unpack_from("<I", metadata, place)
        is_compressed = _field(metadata, place + step, 3) > 0  # whether the buffers say so
        (batch,) = [] if is_compressed else pa.ipc.open_stream(content)
        (column,) = batch.columns
        column.validate(full=True)
    except (pa.ArrowException, OSError, ValueError, TypeError, IndexError, struct.error, MemoryError):
        raise ValueError("values are damaged") from None
    return column


def _field(metadata: bytes, table: int, number: int) -> int:
    """Where a field of a flatbuffer's table stands; 0 where the table has none."""
    (back,) = struct.unpack_from("<i", metadata, table)
    (size,) = struct.unpack_from("<H", metadata, table - back)
    if 4 + 2 * number >= size:
        return 0
    (step,) = struct.unpack_from("<H", metadata, table - back + 4 + 2 * number)
    return table + step if step else 0
