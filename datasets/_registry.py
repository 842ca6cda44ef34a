"""What the fetchers download, as frozen values, and how: from a cache, a local folder or the network, digest checked.

Each digest was found alike in at least two unrelated public repositories; those of Adult and of the Cleveland
file were also recomputed from the data.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import IO, TypeAlias
from urllib.request import urlopen

from sanitize.errors import SourceError

PathLike: TypeAlias = "str | os.PathLike[str]"

UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"


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


SOURCES: dict[str, Source] = {
    "adult": Source(
        files=(
            RemoteFile(
                "adult.data",
                f"{UCI}/adult/adult.data",
                "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
                3_974_305,
            ),
            RemoteFile(
                "adult.test",
                f"{UCI}/adult/adult.test",
                "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
                2_003_153,
            ),
        ),
        columns=(
            *("age", "workclass", "fnlwgt", "education", "education_num", "marital_status", "occupation"),
            *("relationship", "race", "sex", "capital_gain", "capital_loss", "hours_per_week"),
            *("native_country", "income", "split"),
        ),
    ),
    "german_credit": Source(
        files=(
            RemoteFile(
                "german.data",
                f"{UCI}/statlog/german/german.data",
                "b21f3d81db8071257d5ff1deaeba1fd4303b62712e6fcc9715c7a86202cb5871",
                79_793,
            ),
        ),
        columns=(
            *("checking_account", "duration", "credit_history", "purpose", "credit_amount"),
            *("savings_account", "employment_since", "installment_rate", "other_debtors"),
            *("residence_since", "property", "age", "other_installment", "housing"),
            *("existing_credits", "job"),
            # The slip of the pen is kept: it is the name this column has in the copies that go around.
            *("numner_people_provide_maintenance_for", "telephone", "foreign_worker", "sex"),
            *("marital_status", "class_label"),
        ),
    ),
    "bank_marketing": Source(
        files=(
            RemoteFile(
                "bank.zip",
                f"{UCI}/00222/bank.zip",
                "99d7e8eb12401ed278b793984423915411ea8df099e1795f9fefe254f513fe5e",
                579_043,
            ),
        ),
        columns=(
            *("age", "job", "marital", "education", "default", "balance", "housing", "loan", "contact"),
            *("day", "month", "duration", "campaign", "pdays", "previous", "poutcome", "y"),
        ),
    ),
    "heart_disease": Source(
        files=(
            RemoteFile(
                "processed.cleveland.data",
                f"{UCI}/heart-disease/processed.cleveland.data",
                "a74b7efa387bc9d108d7d0115d831fe9b414b29ae7124f331b622b4efa0427c8",
                18_461,
            ),
            RemoteFile(
                "processed.hungarian.data",
                f"{UCI}/heart-disease/processed.hungarian.data",
                "d1ad108f785768cd3d7e82dc522e6f5a61eea93cccfb3a46ee8076f73fc3d796",
                10_263,
            ),
        ),
        columns=(
            *("site", "age", "sex", "cp", "trestbps", "chol", "fbs", "restecg", "thalach", "exang"),
            *("oldpeak", "slope", "ca", "thal", "num"),
        ),
    ),
    "credit_default": Source(
        files=(
            RemoteFile(
                "default of credit card clients.xls",
                f"{UCI}/00350/default%20of%20credit%20card%20clients.xls",
                "30c6be3abd8dcfd3e6096c828bad8c2f011238620f5369220bd60cfc82700933",
                5_539_328,
            ),
        ),
        columns=(
            *("LIMIT_BAL", "SEX", "EDUCATION", "MARRIAGE", "AGE"),
            *("PAY_0", "PAY_2", "PAY_3", "PAY_4", "PAY_5", "PAY_6"),
            *(f"BILL_AMT{month}" for month in range(1, 7)),
            *(f"PAY_AMT{month}" for month in range(1, 7)),
            "default_payment",
        ),
    ),
}


class ChecksumMismatch(SourceError):
    """A file is not the one that was published: its SHA-256 differs.

    Attributes
    ----------
    file : str
        Path or address of the file.
    expected : str
        The digest of the published file.
    found : str
        The digest of the bytes that came.

    Examples
    --------
    >>> from sanitize.datasets import ChecksumMismatch
    >>> issubclass(ChecksumMismatch, OSError)
    True
    """

    def __init__(self, file: str, expected: str, found: str, advice: str) -> None:
        super().__init__(f"{file} has SHA-256 {found}, expected {expected}; {advice}")
        self.file = file
        self.expected = expected
        self.found = found


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
    return {file.name: _checked(folder / file.name, file, advice) for file in files}


def cached_files(folder: Path, files: tuple[RemoteFile, ...]) -> dict[str, Path]:
    """Paths of the files in the cache, downloading those that are not there yet."""
    paths = {}
    for file in files:
        path = folder / file.name
        if path.exists():
            _checked(path, file, "delete it and call again to download it anew")
        else:
            _download(file, path)
        paths[file.name] = path
    return paths


def _checked(path: Path, file: RemoteFile, advice: str) -> Path:
    with path.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != file.sha256:
        raise ChecksumMismatch(str(path), file.sha256, found, advice)
    return path


def _download(file: RemoteFile, path: Path) -> None:
    """Download to a temporary neighbour that gets the name `path` only when its digest is right."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(prefix=".download-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            try:
                found = _copy(file, stream)
            except (OSError, HTTPException) as error:
                raise SourceError(
                    f"could not download {file.url} to {path.parent}: {error}; without a network, pass a "
                    f"folder that holds {file.name!r} as `local`"
                ) from error
        if found != file.sha256:
            raise ChecksumMismatch(
                file.url,
                file.sha256,
                found,
                "nothing was kept. Try again; if it stays, the publisher changed the file: pass a copy of "
                "the original as `local`",
            )
        os.replace(temporary, path)
    finally:
        # Gone already after a success; after anything else, an interruption too, nothing may stay behind.
        Path(temporary).unlink(missing_ok=True)


def _copy(file: RemoteFile, stream: IO[bytes]) -> str:
    """Copy the bytes at `file.url`, one more than it has at the most, and return their digest."""
    digest = hashlib.sha256()
    left = file.n_bytes + 1  # the extra byte makes the digest of a longer file wrong
    with urlopen(file.url, timeout=30.0) as response:
        while left and (chunk := response.read(min(1 << 16, left))):
            digest.update(chunk)
            stream.write(chunk)
            left -= len(chunk)
    return digest.hexdigest()
