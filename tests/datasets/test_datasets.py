"""Bundled, generated and fetched tables: published margins, known distributions, files that are what they claim."""

from __future__ import annotations

import doctest
import importlib
import itertools
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chisquare

from sanitize import datasets
from sanitize.core.joint import JointDistribution
from sanitize.datasets import SOURCES
from sanitize.datasets._registry import RemoteFile
from sanitize.errors import ColumnError, InvalidParameter, SourceError

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason=f"no copies of the real data in {SHARED}")
Publish = Callable[..., Path]

# Two-way margins as printed, row by row, symbols in alphabetical order.
MARGINS = {
    "titanic": {
        ("class", "survived"): "122 203  167 118  528 178  673 212",
        ("sex", "survived"): "126 344  1364 367",
        ("age", "survived"): "1438 654  52 57",
        ("class", "sex"): "145 180  106 179  196 510  23 862",
        ("class", "age"): "319 6  261 24  627 79  885 0",
        ("sex", "age"): "425 45  1667 64",
    },
    "berkeley": {
        ("gender", "admitted"): "557 1278  1198 1493",
        ("department", "admitted"): "601 332  370 215  322 596  269 523  147 437  46 668",
        ("department", "gender"): "108 825  25 560  593 325  375 417  393 191  341 373",
    },
    "hair_eye": {
        ("hair", "eye"): "20 68 5 15  94 7 16 10  84 119 29 54  17 26 14 14",
        ("hair", "sex"): "52 56  81 46  143 143  37 34",
        ("eye", "sex"): "114 101  122 98  31 33  46 47",
    },
    "framingham": {
        ("cholesterol", "heart_disease"): "246 8  439 31  307 12  245 41",
        # Agresti prints 408, 555, 224, 142 men (in twice as many classes), of whom 20, 28, 20, 24 fell ill.
        ("blood_pressure", "heart_disease"): "527 28  204 20  388 20  118 24",
        ("cholesterol", "blood_pressure"): "100 43 88 23  220 74 127 49  124 50 119 26  111 57 74 44",
    },
}
# Rows, and cells that are not empty.
SIZES = {"titanic": (2201, 24), "berkeley": (4526, 24), "hair_eye": (592, 32), "framingham": (1329, 31)}


def load(name: str) -> pd.DataFrame:
    return getattr(datasets, f"load_{name}")()


def files_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("name", MARGINS)
def test_bundled_table_has_the_published_totals_and_two_way_margins(name: str) -> None:
    people, margins = load(name), MARGINS[name]
    assert (len(people), len(people.drop_duplicates())) == SIZES[name]
    assert {frozenset(pair) for pair in margins} == set(map(frozenset, itertools.combinations(people, 2)))
    for (rows, columns), printed in margins.items():
        found = pd.crosstab(people[rows], people[columns]).sort_index().sort_index(axis=1)
        assert found.to_numpy().ravel().tolist() == [int(count) for count in printed.split()]


@pytest.mark.parametrize("name", MARGINS)
def test_bundled_table_is_complete_text_and_the_same_at_every_call(name: str) -> None:
    people = load(name)
    assert all(type(value) is str and value for value in people.to_numpy().ravel())
    assert people.index.equals(pd.RangeIndex(len(people)))
    pd.testing.assert_frame_equal(load(name), people)


@pytest.mark.parametrize("name", MARGINS)
def test_row_order_says_nothing_about_any_column(name: str) -> None:
    """Equal neighbours: as many as in a random order, within 4.5 standard deviations (chance 1e-5)."""
    people = load(name)
    for column in people:
        share = people[column].value_counts(normalize=True).to_numpy()
        p, n = float((share**2).sum()), len(people) - 1
        variance = n * (p * (1 - p) + 2 * float((share**3).sum() - p * p))
        assert abs(people[column].eq(people[column].shift()).sum() - n * p) < 4.5 * variance**0.5


def test_make_joint_is_a_reproducible_distribution_of_the_asked_shape() -> None:
    joint = datasets.make_joint(random_state=7)
    assert joint.pmf.shape == (5, 17)
    np.testing.assert_array_equal(joint.pmf, datasets.make_joint(random_state=np.random.default_rng(7)).pmf)
    assert not np.array_equal(joint.pmf, datasets.make_joint(random_state=8).pmf)
    assert not np.array_equal(datasets.make_joint().pmf, datasets.make_joint().pmf)
    assert datasets.make_joint(n_x=3, n_s=2).pmf.shape == (2, 3)


def test_make_joint_has_uniform_entries_and_the_log_lifts_of_the_paper() -> None:
    rng = np.random.default_rng(0)
    distributions = np.array([datasets.make_joint(random_state=rng).pmf for _ in range(1000)])
    log_lifts = np.log(distributions / (distributions.sum(2, keepdims=True) * distributions.sum(1, keepdims=True)))
    largest, smallest = log_lifts.max(axis=1), log_lifts.min(axis=1)
    # Observed ranges: [0.02, 1.64] and [-12, -0.06]. The extremes of a sample vary, and this one is large.
    assert 0.005 < largest.min() < 0.06
    assert 1.3 < largest.max() < np.log(17)
    assert -15 < smallest.min() < -7
    assert -0.12 < smallest.max() < 0
    # A ratio of two uniform entries is below 1/2, or above 2, with probability 1/4 each; 5 s.d. are 0.05.
    ratios = np.concatenate(
        [distributions[:, 0, 0] / distributions[:, 1, 1], distributions[:, 2, 2] / distributions[:, 3, 3]]
    )
    assert [(ratios < 0.5).mean(), (ratios > 2).mean()] == pytest.approx([0.25, 0.25], abs=0.05)


def test_make_table_follows_its_distribution() -> None:
    """Chi-square over all cells; the seeds are fixed, and a correct sampler fails for 1 pair in 1e6."""
    joint = datasets.make_joint(random_state=3)
    table = datasets.make_table(joint, 100_000, random_state=4)
    counts = np.bincount(table["s"] * 17 + table["x"], minlength=85)
    assert chisquare(counts, 100_000 * joint.pmf.ravel()).pvalue > 1e-6


def test_make_table_never_draws_an_impossible_cell_and_keeps_the_axes() -> None:
    joint = JointDistribution.from_matrix([[0.5, 0.0, 0.1], [0.0, 0.4, 0.0]])
    table = datasets.make_table(joint, 2000, random_state=0)
    assert table.dtypes.astype(str).to_dict() == {"s": "int64", "x": "int64"}
    assert set(table.itertuples(index=False, name=None)) == {(0, 0), (0, 2), (1, 1)}
    pd.testing.assert_frame_equal(table, datasets.make_table(joint, 2000, random_state=0))
    assert datasets.make_table(joint, 0).shape == (0, 2)


def test_generators_refuse_impossible_sizes() -> None:
    for n_x, n_s, named in [(0, 5, "n_x"), (17, -1, "n_s")]:
        with pytest.raises(InvalidParameter, match=f"{named} must be a whole number >= 1"):
            datasets.make_joint(n_x, n_s)
    with pytest.raises(InvalidParameter, match="n_records must be a whole number >= 0, got -1"):
        datasets.make_table(datasets.make_joint(), -1)


ADULT = [
    b"39, State-gov, 77516, Bachelors, 13, Never-married, ?, Not-in-family, White, Male, 2174, 0, 40, "
    b"United-States, <=50K\n\n",
    b"|1x3 Cross validator\n25, ?, 226802, 11th, 7, Never-married, Machine-op-inspct, Own-child, Black, "
    b"Male, 0, 0, 40, ?, >50K.\n\n",
]


@pytest.fixture
def publish(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Publish:
    """Put these contents into a folder, as the originals of a data set, and let the registry expect them."""

    def write(name: str, *contents: bytes) -> Path:
        folder = tmp_path / "published"
        folder.mkdir()
        files = []
        for file, content in zip(SOURCES[name].files, contents, strict=True):
            path = folder / file.name
            path.write_bytes(content)
            files.append(RemoteFile(file.name, path.as_uri(), sha256(content).hexdigest(), len(content)))
        monkeypatch.setitem(SOURCES, name, replace(SOURCES[name], files=tuple(files)))
        return folder

    return write


def test_a_set_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(InvalidParameter, match=r"'adult'.*'heart_disease'"):
        datasets.fetch("titanic")


def test_fetch_downloads_once_checks_and_parses(publish: Publish, monkeypatch, tmp_path: Path) -> None:
    folder = publish("adult", *ADULT)
    people = datasets.fetch("adult", data_home=tmp_path / "home")
    assert tuple(people.columns) == SOURCES["adult"].columns
    assert people["split"].tolist() == ["train", "test"]
    assert people["income"].tolist() == ["<=50K", ">50K"]
    assert people.columns[people.isna().any()].tolist() == ["workclass", "occupation", "native_country"]
    assert files_in(tmp_path / "home") == ["adult.data", "adult.test"]
    for name in files_in(folder):
        (folder / name).unlink()  # a cache hit needs no network
    monkeypatch.setenv("SANITIZE_DATA", str(tmp_path / "home"))
    pd.testing.assert_frame_equal(datasets.fetch("adult"), people)
    (tmp_path / "home" / "adult" / "adult.data").write_bytes(ADULT[1])
    with pytest.raises(SourceError, match="delete it and call again"):
        datasets.fetch("adult")


@pytest.mark.parametrize("wrong", [b"", ADULT[0][:-1], ADULT[0] + b"x" * 1000, b"x" * len(ADULT[0])])
def test_a_download_that_is_not_the_published_file_leaves_nothing(publish: Publish, tmp_path, wrong) -> None:
    folder = publish("adult", *ADULT)
    (folder / "adult.data").write_bytes(wrong)
    with pytest.raises(SourceError, match="nothing was kept") as caught:
        datasets.fetch("adult", data_home=tmp_path / "home")
    # A longer file is cut off one byte late, which is enough to tell.
    expected, found = sha256(ADULT[0]).hexdigest(), sha256(wrong[: len(ADULT[0]) + 1]).hexdigest()
    assert f"{folder.as_uri()}/adult.data has SHA-256 {found}, expected {expected}; " in str(caught.value)
    assert files_in(tmp_path / "home") == []


def test_without_a_network_the_error_says_what_to_do(publish: Publish, tmp_path: Path) -> None:
    (publish("german_credit", b"any") / "german.data").unlink()
    with pytest.raises(SourceError, match=r"could not .* pass a folder that holds 'german\.data' as `local`"):
        datasets.fetch("german_credit", data_home=tmp_path / "home")
    assert files_in(tmp_path / "home") == []


def test_a_local_folder_is_checked_like_a_download(publish: Publish, tmp_path: Path) -> None:
    folder = publish("adult", *ADULT)
    assert datasets.fetch("adult", local=folder)["age"].tolist() == [39, 25]
    (folder / "adult.test").write_bytes(ADULT[1].replace(b"226802", b"226803"))
    with pytest.raises(SourceError, match=r"adult\.test has SHA-256"):
        datasets.fetch("adult", local=str(folder))
    with pytest.raises(SourceError, match=r"no 'adult\.data' and no 'adult\.test' in"):
        datasets.fetch("adult", local=tmp_path / "nowhere")


def test_a_local_parquet_file_is_read_as_it_is_if_its_columns_fit(tmp_path: Path) -> None:
    path = tmp_path / "bank.parquet"
    table = pd.DataFrame({name: ["any value"] for name in reversed(SOURCES["bank_marketing"].columns)})
    table.to_parquet(path)
    pd.testing.assert_frame_equal(datasets.fetch("bank_marketing", local=path), table)
    table.rename(columns={"job": "profession"}).to_parquet(path)
    with pytest.raises(ColumnError, match=r"lacks \['job'\] and has \['profession'\] besides"):
        datasets.fetch("bank_marketing", local=path)
    path.write_bytes(b"age;job\n")
    with pytest.raises(SourceError, match="cannot be read as Parquet"):
        datasets.fetch("bank_marketing", local=path)


def test_german_codes_become_words(publish: Publish) -> None:
    lines = (
        b"A11 6 A34 A43 1169 A65 A75 4 A93 A101 4 A121 67 A143 A152 2 A173 1 A192 A201 1\n"
        b"A12 48 A32 A410 5951 A61 A73 2 A92 A103 2 A124 22 A141 A153 1 A171 2 A191 A202 2\n"
    )
    applicants = datasets.fetch("german_credit", local=publish("german_credit", lines))
    assert not applicants.isna().any().any()
    good, bad = applicants[["purpose", "age", "sex", "marital_status", "class_label"]].to_numpy().tolist()
    assert good == ["radio/television", 67, "male", "single", 1]
    assert bad == ["others", 22, "female", "divorced/separated/married", 0]


def test_bank_is_read_from_its_archive(publish: Publish, tmp_path: Path) -> None:
    header = ";".join(f'"{name}"' for name in SOURCES["bank_marketing"].columns)
    with zipfile.ZipFile(tmp_path / "any.zip", "w") as archive:
        archive.writestr("bank-full.csv", f'{header}\n58;"NA";{";".join(map(str, range(15)))}\n')
    folder = publish("bank_marketing", (tmp_path / "any.zip").read_bytes())
    assert datasets.fetch("bank_marketing", local=folder).iloc[0].tolist() == [58, "NA", *range(15)]


def test_heart_sites_are_joined_with_nulls(publish: Publish) -> None:
    cleveland = b"67.0,1.0,4.0,160.0,286.0,0.0,2.0,108.0,1.0,1.5,2.0,3.0,?,2\n"
    folder = publish("heart_disease", cleveland, b"28,1,2,130,132,0,2,185,0,0,?,?,?,0\n")
    patients = datasets.fetch("heart_disease", local=folder)
    assert patients["ca"].map(str).tolist() == ["3", "<NA>"]
    assert patients.isna().sum()[lambda nulls: nulls > 0].to_dict() == {"slope": 1, "ca": 1, "thal": 2}


def test_credit_default_drops_the_row_number(publish: Publish, monkeypatch) -> None:
    """The workbook itself is replaced: reading it needs xlrd, which is not a dependency."""
    columns = SOURCES["credit_default"].columns
    workbook = pd.DataFrame([range(25)], columns=["ID", *columns[:-1], "default payment next month"])
    monkeypatch.setattr(pd, "read_excel", lambda _, header: {1: workbook}[header])
    holders = datasets.fetch("credit_default", local=publish("credit_default", b"workbook"))
    assert holders.iloc[0].to_dict() == dict(zip(columns, range(1, 25), strict=True))


@pytest.mark.slow
@needs_shared
def test_adult_originals_rebuilt_from_parquet_have_the_registered_digests(tmp_path: Path) -> None:
    """Digests, sizes and parser at once: the originals are written anew from the copy and fetched."""
    people = datasets.fetch("adult", local=SHARED / "adult.parquet")
    texts = people.drop(columns="split").astype(object).where(people.notna(), "?").astype(str)
    for split, head, dot in [("train", "", ""), ("test", "|1x3 Cross validator\n", ".")]:
        rows = texts[people["split"] == split].itertuples(index=False, name=None)
        text = head + "".join(", ".join(row) + dot + "\n" for row in rows) + "\n"
        (tmp_path / {"train": "adult.data", "test": "adult.test"}[split]).write_bytes(text.encode())
    pd.testing.assert_frame_equal(datasets.fetch("adult", local=tmp_path), people, check_dtype=False)
    assert all((tmp_path / file.name).stat().st_size == file.n_bytes for file in SOURCES["adult"].files)


@needs_shared
@pytest.mark.parametrize("name", SOURCES)
def test_every_copy_of_the_real_data_has_the_documented_columns(name: str) -> None:
    assert tuple(datasets.fetch(name, local=SHARED / f"{name}.parquet").columns) == SOURCES[name].columns


def test_every_public_name_has_an_example_that_runs() -> None:
    assert all(">>> " in getattr(datasets, name).__doc__ for name in set(datasets.__all__) - {"SOURCES"})
    for module in ["_bundled", "_fetch", "_registry", "_survey"]:
        found = doctest.testmod(importlib.import_module(f"sanitize.datasets.{module}"))
        assert (found.attempted > 0, found.failed) == (True, 0)


@pytest.mark.slow
def test_importing_the_package_loads_no_pandas() -> None:
    code = "import sys, sanitize.datasets; sys.exit('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
