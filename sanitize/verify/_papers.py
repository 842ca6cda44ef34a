"""Machine-readable papers of a release: Croissant 1.1 metadata of the released file, and an in-toto statement.

The statement names the released files, and the policy, report and channel that belong to them, each by its SHA-256, and
the metadata by their name alone: licence and authors are still to be added there. All but the released files lie in one
folder with it, so that whoever gets the folder can check it offline.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import pyarrow as pa

from sanitize._files.csv import CsvSource
from sanitize._files.open import open_source, path_of
from sanitize._files.sealed_text import NotStrict, digest_of, strict_json
from sanitize._files.source import Source, bytes_of
from sanitize._version import __version__
from sanitize.errors import SourceError

STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "urn:x-sanitize:release:1"
CROISSANT = "http://mlcommons.org/croissant/1.1"
# What a statement may name beside the released files.
PAPERS = ("policy", "report", "channel", "croissant")
GROWING = "croissant"


def croissant_of(released: Path, name: str, description: str, date: str | None = None) -> dict[str, Any]:
    """Croissant 1.1 metadata of a released file or folder: its files with their digests, its columns with types.

    Licence, address, author and citation are not known here, and are left to whoever publishes the file.
    """
    with open_source(released) as table:
        about = {"name": name, "description": description} | ({} if date is None else {"datePublished": date})
        return {
            "@context": strict_json((files("sanitize.verify") / "croissant_context.json").read_bytes()),
            "@type": "sc:Dataset",
            "conformsTo": CROISSANT,
            **about,
            "distribution": _distribution(released, table),
            "recordSet": [_records(released, table)],
        }


def _distribution(released: Path, table: Source) -> list[dict[str, Any]]:
    kind = "text/csv" if isinstance(table, CsvSource) else "application/x-parquet"
    files = [
        {
            "@type": "cr:FileObject",
            "@id": name,
            "name": name,
            "contentUrl": name,
            "encodingFormat": kind,
            "sha256": digest,
        }
        for name, digest in digests(released).items()
    ]
    if not released.is_dir():
        return files
    ending = "csv" if isinstance(table, CsvSource) else "parquet"
    parts = {"@type": "cr:FileSet", "@id": "parts", "name": "parts", "encodingFormat": kind}
    return [*files, parts | {"includes": f"{released.name}/*.{ending}"}]


def _records(released: Path, table: Source) -> dict[str, Any]:
    origin = {"fileSet": {"@id": "parts"}} if released.is_dir() else {"fileObject": {"@id": released.name}}
    fields = [
        {
            "@type": "cr:Field",
            "@id": f"rows/{field.name}",
            "name": field.name,
            "dataType": "sc:Text" if isinstance(table, CsvSource) else _type_of(field.type),
            "source": {**origin, "extract": {"column": field.name}},
        }
        for field in table.schema
    ]
    return {"@type": "cr:RecordSet", "@id": "rows", "name": "rows", "field": fields}


def _type_of(kind: pa.DataType) -> str:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    types = (
        (pa.types.is_boolean, "sc:Boolean"),
        (pa.types.is_integer, "sc:Integer"),
        (pa.types.is_floating, "sc:Float"),
        (pa.types.is_decimal, "sc:Number"),
        (pa.types.is_date, "sc:Date"),
        (pa.types.is_timestamp, "sc:DateTime"),
        (pa.types.is_time, "sc:Time"),
    )
    return next((name for holds, name in types if holds(kind)), "sc:Text")


def digests(released: Path) -> dict[str, str]:
    """SHA-256 of each file of a release, by its name; of a folder's by the folder's name and theirs."""
    with open_source(released) as table:
        files = {
            released.name if file == released else f"{released.name}/{file.relative_to(released).as_posix()}": file
            for file in table.files
        }
    return {name: _hexadecimal(file) for name, file in files.items()}


def statement_of(released: Path, names: Mapping[str, str], papers: Mapping[str, Path]) -> dict[str, Any]:
    """In-toto statement of a release and of the papers that belong to it, by their names in one folder."""
    found: dict[str, Any] = {kind: {"name": name} for kind, name in names.items()}
    for kind, path in papers.items():
        if kind != GROWING:
            found[kind]["digest"] = {"sha256": _hexadecimal(path)}
    return {
        "_type": STATEMENT,
        "subject": [{"name": name, "digest": {"sha256": digest}} for name, digest in digests(released).items()],
        "predicateType": PREDICATE,
        "predicate": {"libraryVersion": __version__, **found},
    }


def _hexadecimal(file: Path) -> str:
    return digest_of(file).removeprefix("sha256:")


def read_json(path: Path, what: str) -> Any:
    """What a JSON file of these papers holds.

    Raises
    ------
    SourceError
        If it cannot be read, is too large, or is not JSON; the message quotes nothing of it.
    """
    try:
        return strict_json(bytes_of(path_of(path, SourceError), 1 << 26))
    except SourceError as error:
        raise SourceError(f"{what} {error}") from None
    except NotStrict as error:
        raise SourceError(f"{what} {path.name} cannot be read: {error}") from None
