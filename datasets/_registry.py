"""What the fetchers download, as frozen values, and how: from a cache, a folder or the network, digest checked."""

from __future__ import annotations

import hashlib
import os
import tempfile
import tomllib
from dataclasses import dataclass
from http.client import HTTPException
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeAlias
from urllib.request import urlopen

from sanitize.errors import SourceError

PathLike: TypeAlias = "str | os.PathLike[str]"


@dataclass(frozen=True)
class RemoteFile:
    """One file of a data set, as its publisher serves it.

    Attributes
    ----------
    name : str
        Its name in the cache and in a local folder.
    url : str
        Where it is downloaded from.
    sha256 : str
        Digest of its bytes, in lower-case hexadecimal.
    n_bytes : int
        Its size; a download is cut off beyond it.

    Examples
    --------
    >>> from sanitize.datasets import SOURCES
    >>> SOURCES["german_credit"].files[0].n_bytes
    79793
    """

    name: str
    url: str
    sha256: str
    n_bytes: int


@dataclass(frozen=True)
class Source:
    """A data set: its files and the columns of the table made of them.

    Attributes
    ----------
    files : tuple of RemoteFile
        The files, all of which are needed.
    columns : tuple of str
        Columns of the table, in order.

    Examples
    --------
    >>> from sanitize.datasets import SOURCES
    >>> [file.name for file in SOURCES["adult"].files]
    ['adult.data', 'adult.test']
    """

    files: tuple[RemoteFile, ...]
    columns: tuple[str, ...]


def load_toml(name: str) -> dict[str, Any]:
    """Values of a bundled file of words."""
    return tomllib.loads((files("sanitize.datasets") / "tables" / f"{name}.toml").read_text(encoding="utf-8"))


SOURCES = {
    name: Source(tuple(RemoteFile(**file) for file in source["files"]), tuple(source["columns"]))
    for name, source in load_toml("sources").items()
}


def cache_folder(data_home: PathLike | None) -> Path:
    """Return `data_home`, or the folder named by SANITIZE_DATA, or ~/.cache/sanitize."""
    chosen = data_home or os.environ.get("SANITIZE_DATA") or Path("~", ".cache", "sanitize")
    return Path(chosen).expanduser()


def local_files(folder: Path, files: tuple[RemoteFile, ...]) -> dict[str, Path]:
    """Paths of original files that somebody put into `folder`, each checked."""
    missing = [file.name for file in files if not (folder / file.name).is_file()]
    if missing:
        raise SourceError(
            f"no {' and no '.join(repr(name) for name in missing)} in {folder}; `local` is a folder with the "
            "original files or the path of a Parquet file"
        )
    advice = "put the original file there, or leave `local` out to download it"
    return {file.name: _verify_file(folder / file.name, file, advice) for file in files}


def fetch_files(folder: Path, files: tuple[RemoteFile, ...]) -> dict[str, Path]:
    """Paths of the files in the cache, downloading those that are not there yet."""
    paths = {}
    for file in files:
        path = folder / file.name
        if path.exists():
            _verify_file(path, file, "delete it and call again to download it anew")
        else:
            _download(file, path)
        paths[file.name] = path
    return paths


def _verify_file(path: Path, file: RemoteFile, advice: str) -> Path:
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    _check_digest(path, file, digest, advice)
    return path


def _check_digest(place: object, file: RemoteFile, digest: str, advice: str) -> None:
    if digest != file.sha256:
        raise SourceError(f"{place} has SHA-256 {digest}, expected {file.sha256}; {advice}")


def _download(file: RemoteFile, path: Path) -> None:
    """Download to a temporary neighbour that gets the name `path` only when its digest is right."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(prefix=".download-", dir=path.parent)
    try:
        digest, left = hashlib.sha256(), file.n_bytes + 1  # the extra byte makes the digest of a longer file wrong
        try:
            with os.fdopen(descriptor, "wb") as stream, urlopen(file.url, timeout=30.0) as response:
                while left and (chunk := response.read(min(1 << 16, left))):
                    digest.update(chunk)
                    stream.write(chunk)
                    left -= len(chunk)
        except (OSError, HTTPException) as error:
            raise SourceError(
                f"could not download {file.url} to {path.parent}: {error}; without a network, pass a "
                f"folder that holds {file.name!r} as `local`"
            ) from error
        advice = "nothing was kept. Try again; if it stays, the publisher changed the file: pass the original file"
        _check_digest(file.url, file, digest.hexdigest(), f"{advice} as `local`")
        os.replace(temporary, path)
    finally:
        # Gone already after a success; after anything else, an interruption too, nothing may stay behind.
        Path(temporary).unlink(missing_ok=True)
