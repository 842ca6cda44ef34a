"""Papers of a release: functions that make and check its Croissant 1.1 metadata and its in-toto statement.

The statement names the released files and their policy, report and channel, each with its SHA-256 digest. It names the
metadata without a digest, because licence and authors are added there later. All papers lie in the folder of the
statement, so that a recipient of the folder can check offline that the named files are unchanged and that their
statements are true.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sanitize._util.sealed_text import NotStrict, path_digest, strict_json
from sanitize._version import __version__
from sanitize.auditing.verify._verification import Check
from sanitize.errors import SanitizeError, SourceError
from sanitize.policy import Policy
from sanitize.report import LeakageReport
from sanitize.tables.columns import value_type
from sanitize.tables.files.csv import CsvSource
from sanitize.tables.files.open import open_source, to_path
from sanitize.tables.files.source import Source, read_small_file

# Identifiers by which other tools recognise these files: an in-toto statement, its predicate, and the version of
# Croissant. They are fixed by others, or by files that were written before.
STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "urn:x-sanitize:release:1"
CROISSANT = "http://mlcommons.org/croissant/1.1"
# Kinds of papers that a statement may name in addition to the released files. Publishers add to the metadata, so that
# its digest is not part of the statement.
PAPERS = ("policy", "report", "channel", "croissant")
GROWING = "croissant"


def make_croissant(
    released: Path, name: str, description: str, date: str | None = None, tables: Sequence[str] = ()
) -> dict[str, Any]:
    """Return Croissant 1.1 metadata of a released file or folder: files with digests, and columns with types.

    Each table of a folder has records of its own. Licence, address, author and citation are not known here; the
    publisher of the file adds them.
    """
    about = {"name": name, "description": description} | ({} if date is None else {"datePublished": date})
    records, form, ending = [], "application/x-parquet", "parquet"
    for part in _parts(released, tables):
        with open_source(part) as table:
            if isinstance(table, CsvSource):
                form, ending = "text/csv", "csv"
            of_file = _file_name(part, released)
            origin = {"fileSet": {"@id": "parts"}} if part.is_dir() else {"fileObject": {"@id": of_file}}
            records.append(_records(part.stem if tables else "rows", origin, table))
    distribution = [
        {"@type": "cr:FileObject", "@id": file, "name": file, "contentUrl": file, "encodingFormat": form}
        | {"sha256": digest}
        for file, digest in digests(released, tables).items()
    ]
    if released.is_dir() and not tables:
        parts = {"@type": "cr:FileSet", "@id": "parts", "name": "parts", "encodingFormat": form}
        distribution.append(parts | {"includes": f"{released.name}/*.{ending}"})
    return {
        "@context": strict_json((files("sanitize.auditing.verify") / "croissant_context.json").read_bytes()),
        "@type": "sc:Dataset",
        "conformsTo": CROISSANT,
        **about,
        "distribution": distribution,
        "recordSet": records,
    }


def _parts(released: Path, tables: Sequence[str]) -> list[Path]:
    """Return the paths of the tables in a folder, or the path of the single table."""
    return [released / f"{table}.parquet" for table in tables] or [released]


def _file_name(file: Path, released: Path) -> str:
    return released.name if file == released else f"{released.name}/{file.relative_to(released).as_posix()}"


# Croissant's types of columns, of which the first that holds is taken. Values of any other type can be written as text.
_TYPES = (
    (pa.types.is_boolean, "sc:Boolean"),
    (pa.types.is_integer, "sc:Integer"),
    (pa.types.is_floating, "sc:Float"),
    (pa.types.is_decimal, "sc:Number"),
    (pa.types.is_date, "sc:Date"),
    (pa.types.is_timestamp, "sc:DateTime"),
    (pa.types.is_time, "sc:Time"),
)


def _records(name: str, origin: dict[str, Any], table: Source) -> dict[str, Any]:
    fields = []
    for field in table.schema:
        kind = value_type(field.type)
        of_file = next((of_type for holds, of_type in _TYPES if holds(kind)), "sc:Text")
        entry = {"@type": "cr:Field", "@id": f"{name}/{field.name}", "name": field.name}
        entry["dataType"] = "sc:Text" if isinstance(table, CsvSource) else of_file
        fields.append({**entry, "source": {**origin, "extract": {"column": field.name}}})
    return {"@type": "cr:RecordSet", "@id": name, "name": name, "field": fields}


def digests(released: Path, tables: Sequence[str] = ()) -> dict[str, str]:
    """SHA-256 digest of each file of a release, by the file's name."""
    files: list[Path] = []
    for part in _parts(released, tables):
        with open_source(part) as table:
            files += table.files
    return {_file_name(file, released): _hexadecimal(file) for file in files}


def make_statement(
    released: Path, names: Mapping[str, str], papers: Mapping[str, Path], tables: Sequence[str] = ()
) -> dict[str, Any]:
    """Return an in-toto statement about a release and its papers, which are named relative to one folder."""
    entries: dict[str, Any] = {kind: {"name": name} for kind, name in names.items()}
    for kind, path in papers.items():
        if kind != GROWING:
            entries[kind]["digest"] = {"sha256": _hexadecimal(path)}
    return {
        "_type": STATEMENT,
        "subject": [{"name": name, "digest": {"sha256": digest}} for name, digest in digests(released, tables).items()],
        "predicateType": PREDICATE,
        "predicate": {"libraryVersion": __version__, **entries},
    }


def _hexadecimal(file: Path) -> str:
    return path_digest(file).removeprefix("sha256:")


def read_json(path: Path, what: str) -> Any:
    """Return the content of a paper that is a JSON file.

    Raises
    ------
    SourceError
        If the file cannot be read, is too large, or is not JSON; the message quotes nothing of it.
    """
    try:
        return strict_json(read_small_file(to_path(path, SourceError), 1 << 26))
    except SourceError as error:
        raise SourceError(f"{what} {error}") from None
    except NotStrict as error:
        raise SourceError(f"{what} {path.name} cannot be read: {error}") from None


def check_papers(
    statement: Path, released: Path, report: LeakageReport, policy: Policy | None
) -> tuple[Check, Check, Check]:
    """Check a statement, the saved report, and the metadata that the statement names.

    Parameters
    ----------
    statement : Path
        In-toto statement; the papers that it names lie in its folder.
    released : Path
        Released file or folder.
    report : LeakageReport
        Report of the same release, designed again from the source.
    policy : Policy or None
        Policy under which the release was designed, if there was one.
    """
    content = read_json(statement, "the statement")
    faults = list(_faults(content, statement.parent, released))
    papers = _paper_paths(content, statement.parent)
    if policy is not None and "policy" in papers and not faults:
        with contextlib.suppress(SanitizeError):
            if Policy.read(papers["policy"]) == policy:
                policy = None
        faults += [] if policy is None else ["its policy differs from the given policy"]
    n_files = len(digests(released)) + len(papers)
    return (
        Check("statement", not faults, "; ".join(faults) or f"{n_files} files are those that it names"),
        _check_paper("report", papers, lambda path: _report_faults(path, report, released), "agrees with the design"),
        _check_paper(
            "croissant", papers, lambda path: _croissant_faults(path, released), "the released files and columns"
        ),
    )


def _check_paper(kind: str, papers: Mapping[str, Path], faults_of: Any, good: str) -> Check:
    if kind not in papers:
        return Check.failure(kind, "the statement names none")
    try:
        faults = list(faults_of(papers[kind]))
    except SanitizeError as error:
        return Check.failure(kind, str(error))
    return Check(kind, not faults, "; ".join(faults) or good)


def _paper_paths(content: Any, folder: Path) -> dict[str, Path]:
    """Paths of the papers that a statement names, by kind; names that lead out of its folder are left out."""
    papers = {}
    for kind in PAPERS:
        name = _value_at_path(content, "predicate", kind, "name")
        if isinstance(name, str) and name not in ("", ".", "..") and Path(name).name == name and "\0" not in name:
            papers[kind] = folder / name
    return papers


def _faults(content: Any, folder: Path, released: Path) -> Iterator[str]:
    """Yield the faults of a statement and of the files that it names."""
    if not isinstance(content, dict) or (content.get("_type"), content.get("predicateType")) != (STATEMENT, PREDICATE):
        yield "it is no statement of a release"
        return
    subject = content.get("subject")
    entries = subject if isinstance(subject, list) else []
    file_digests = {
        entry["name"]: str(_value_at_path(entry, "digest", "sha256"))
        for entry in entries
        if isinstance(_value_at_path(entry, "name"), str)
    }
    # The file may have been renamed, but its content must be unchanged.
    if sorted(file_digests.values()) != sorted(digests(released).values()):
        yield "the released files are not those that it names"
    papers = _paper_paths(content, folder)
    yield from (f"it names no {kind}" for kind in ("policy", "report", "croissant") if kind not in papers)
    for kind, path in papers.items():
        if not path.is_file():
            yield f"the {kind} {path.name} is not in its folder"
        elif kind != GROWING and _hexadecimal(path) != _value_at_path(content, "predicate", kind, "digest", "sha256"):
            yield f"the {kind} {path.name} is not the one that it names"


def _value_at_path(content: Any, *keys: str) -> Any:
    """Return the value under these keys of nested objects; None if a key is missing."""
    for key in keys:
        content = content.get(key) if isinstance(content, dict) else None
    return content


def _report_faults(path: Path, report: LeakageReport, released: Path) -> Iterator[str]:
    saved = LeakageReport.from_json(read_small_file(path)).to_dict()
    expected = report.to_dict(audience=saved["audience"])
    origin = saved["origin"] or {}
    if origin.get("digest") not in (None, path_digest(released)):
        yield "it describes another file"
    # Figures may differ in the last digit on another machine and are compared below; these fields may not.
    words = ("ok", "state", "useless", "mechanism", "output", "confidence", "allowed", "refuted", "seeded")
    wrong = any(saved["verdict"].get(name) != expected["verdict"].get(name) for name in words)
    if wrong or saved["columns"] != expected["columns"]:
        yield "its verdict or columns are not those of the release, designed again"
        return

    def figures(measure: dict[str, Any]) -> list[float]:
        values = (measure[side] for side in ("before", "after", "bound"))
        return [math.nan if value is None else float(value) for value in values]

    saved_figures = {measure["name"]: figures(measure) for measure in saved.get("measures", ())}
    for measure in expected.get("measures", ()):
        near = saved_figures.get(measure["name"], [])
        # Figures have four digits, the last of which may differ on another machine.
        if not near or not np.allclose(near, figures(measure), rtol=2e-3, atol=1e-9, equal_nan=True):
            yield f"its {measure['label']} is not that of the release, designed again"
            return


def _croissant_faults(path: Path, released: Path) -> Iterator[str]:
    content = read_json(path, "the metadata")
    if not isinstance(content, dict) or content.get("conformsTo") != CROISSANT:
        yield "it is no Croissant 1.1"
        return
    true = make_croissant(released, "", "")
    for part, words in (("distribution", "files"), ("recordSet", "columns"), ("@context", "terms")):
        if content.get(part) != true[part]:
            yield f"its {words} are not those of the release"
