"""Tables made of the original files: columns get names, codes get words, marks of missing become nulls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from zipfile import ZipFile

from sanitize.datasets._registry import load_toml

if TYPE_CHECKING:
    import pandas as pd

Reader: TypeAlias = "Callable[[Mapping[str, Path], tuple[str, ...]], pd.DataFrame]"


def read_adult(paths: Mapping[str, Path], columns: tuple[str, ...]) -> pd.DataFrame:
    """Both halves of Adult; the test half starts with a remark and ends its labels with a dot."""
    import pandas as pd

    halves = []
    for split, name in (("train", "adult.data"), ("test", "adult.test")):
        half = pd.read_csv(
            paths[name],
            names=list(columns[:-1]),
            comment="|",
            skipinitialspace=True,
            keep_default_na=False,
            na_values=["?"],
        )
        halves.append(half.assign(income=half["income"].str.removesuffix("."), split=split))
    return pd.concat(halves, ignore_index=True)


def read_german_credit(paths: Mapping[str, Path], columns: tuple[str, ...]) -> pd.DataFrame:
    """Decode German credit; one original column holds sex and marital status, class 2 (bad) becomes 0."""
    import pandas as pd

    names = [name for name in columns if name not in {"sex", "marital_status"}]
    names.insert(8, "sex")
    coded = pd.read_csv(paths["german.data"], sep=" ", names=names, keep_default_na=False)
    coded["marital_status"] = coded["sex"]
    words = {name: coded[name].map(codes) for name, codes in load_toml("german_credit").items()}
    return coded.assign(class_label=(coded["class_label"] == 1).astype("int64"), **words)


def read_bank_marketing(paths: Mapping[str, Path], columns: tuple[str, ...]) -> pd.DataFrame:
    """All of the bank data; "unknown" is an answer of the original and stays one."""
    import pandas as pd

    with ZipFile(paths["bank.zip"]) as archive, archive.open("bank-full.csv") as stream:
        return pd.read_csv(stream, sep=";", keep_default_na=False)


def read_heart_disease(paths: Mapping[str, Path], columns: tuple[str, ...]) -> pd.DataFrame:
    """Cleveland, then Budapest; every column but `oldpeak` is a whole number or missing."""
    import pandas as pd

    whole = dict.fromkeys(set(columns) - {"site", "oldpeak"}, "Int64")
    sites = []
    for site in ("cleveland", "hungarian"):
        table = pd.read_csv(paths[f"processed.{site}.data"], names=list(columns[1:]), na_values=["?"])
        sites.append(table.astype(whole).assign(site=site))
    return pd.concat(sites, ignore_index=True)


def read_credit_default(paths: Mapping[str, Path], columns: tuple[str, ...]) -> pd.DataFrame:
    """Card holders of the workbook, whose first line numbers the columns and whose second names them."""
    import pandas as pd

    workbook = pd.read_excel(paths["default of credit card clients.xls"], header=1)
    return workbook.rename(columns={"default payment next month": "default_payment"})
