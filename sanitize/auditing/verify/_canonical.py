"""Canonical form of a released file: the bytes that this library writes for the rows of the file."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from sanitize._util.outputs import Outputs, outputs, temporary_place
from sanitize._util.sealed_text import NotStrict, path_digest, strict_json
from sanitize.auditing.verify._verification import Check
from sanitize.engines.parquet import CsvWriter, ReleaseWriter
from sanitize.tables.files.csv import CsvSource
from sanitize.tables.files.parquet import is_text, open_parquet, read_footer
from sanitize.tables.files.source import Source, reading


def write_canonical(released: Source, target: Path, out: Outputs) -> list[bytes]:
    """Write the rows of a release in canonical form, and return the summaries that the given files contain.

    The written file contains no metadata, unused dictionary values, statistics, odd row groups, pages or leftovers of
    the given file, and a written folder contains no other files.
    """
    if isinstance(released, CsvSource):
        with out.file(target) as stream:
            texts = pa.schema([(name, pa.string()) for name in released.schema.names])
            writer = CsvWriter(stream, texts)
            for file in released.files:
                for batch in released.batches(file, texts.names):
                    writer.write(writer.encode(batch))
        return []
    if not released.root.is_dir():
        with out.file(target) as stream:
            return [_write_parquet(released.files[0], stream)]
    with out.folder(target) as folder:
        summaries = []
        for file in released.files:
            with (folder / file.relative_to(released.root)).open("wb") as stream:
                summaries.append(_write_parquet(file, stream))
        return summaries


def _write_parquet(file: Path, stream: BinaryIO) -> bytes:
    with open_parquet(file) as reader:
        read_footer(file).refuse_bombs(reader.schema_arrow.names, file)
        text = [field.name for field in reader.schema_arrow if is_text(field.type)]
    with reading(file.name), open_parquet(file, read_dictionary=text, pre_buffer=False) as reader:
        schema = reader.schema_arrow.remove_metadata()
        summary: bytes = (reader.metadata.metadata or {}).get(b"sanitize", b"")
        writer = ReleaseWriter(stream, schema, summary)
        for number in range(reader.num_row_groups):
            rows = reader.read_row_group(number, use_threads=False)
            writer.write(writer.encode({name: rows.column(name).combine_chunks() for name in schema.names}))
        writer.close()
    return summary


def form_checks(released: Source, expected: dict[str, Any]) -> list[Check]:
    """Check that a release is in canonical form and that its summary is true."""
    with tempfile.TemporaryDirectory(dir=temporary_place()) as folder:
        rewritten = Path(folder) / released.root.name
        with outputs() as out:
            summaries = write_canonical(released, rewritten, out)
        fault = summary_fault(summaries, expected)
        same = path_digest(rewritten) == path_digest(released.root)
    form = (
        "written again its rows give the same bytes, so the file holds nothing else"
        if same
        else "its rows, written again, give other bytes: it contains more than rows, or another version wrote it; hand "
        "out what verify --rewrite FILE writes"
    )
    return [Check("summary", not fault, fault or "a summary at most, and it is true"), Check("form", same, form)]


def summary_fault(summaries: list[bytes], expected: dict[str, Any]) -> str:
    """Return a fault of the summaries in the files, in words; empty if they agree with the repeated design."""
    for packed in filter(None, summaries):  # files written from data frames have no summary
        if len(packed) > 1 << 16:
            return "a summary is larger than any that sanitize writes"
        try:
            summary = strict_json(packed)
        except NotStrict as error:
            return f"a summary cannot be read: {error}"
        if not isinstance(summary, dict) or json.dumps(summary).encode() != packed:
            return "a summary is written in another way than any that sanitize writes"
        strange = set(summary) - set(expected)
        if strange:
            return f"a summary has {len(strange)} entries that no release has"
        for key, value in summary.items():
            is_true = type(value) is type(expected[key]) and value == expected[key]
            if key == "sanitize":  # version that wrote the file, perhaps another one
                version = r"\d{1,3}(\.(\d{1,4}|dev\d{1,4})){1,3}((a|b|rc)\d{1,2})?"
                is_true = isinstance(value, str) and re.fullmatch(version, value) is not None
            if not is_true:
                return f"a summary says something else about {key} than designing the release again"
    return ""
