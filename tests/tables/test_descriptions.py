"""What a text file means to its owner: inferred by `init`, written into a policy, and read so by a release."""

from __future__ import annotations

import bz2
import datetime
import gzip
import io
import lzma
import tomllib
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import sanitize as sz
from sanitize.cli import main
from sanitize.errors import ColumnError, InvalidParameter, PolicyError, SourceError
from sanitize.tables.files.csv import CsvSource
from sanitize.tables.files.open import attach_description, open_source

N_ROWS = 240
RNG = np.random.default_rng(7)
DAYS = [datetime.date(1950, 1, 1) + datetime.timedelta(int(day)) for day in RNG.integers(0, 20_000, N_ROWS)]
TABLE = {
    "person": [f"P{number:05}x" for number in RNG.permutation(N_ROWS)],
    "town": RNG.choice(["Ulm", "Bonn", "Köln"], N_ROWS).tolist(),
    "zip": RNG.choice(["01067", "89073", "04109"], N_ROWS).tolist(),
    "age": RNG.integers(18, 90, N_ROWS).tolist(),
    "pay": RNG.integers(100_000, 900_000, N_ROWS).tolist(),  # cents
    "born": DAYS,
    "ill": RNG.choice(["yes", "no"], N_ROWS).tolist(),
}
TYPES = {"person": "identifier", "town": "category", "zip": "code", "age": "quantity", "pay": "quantity"}
ABSENT = RNG.random(N_ROWS) < 0.1
# Between fields; for missing ages and dates; of dates; before decimals; whether there is a header.
FILES = [
    (",", "", "%Y-%m-%d", ".", True),
    (",", "NA", "%m/%d/%Y", ".", True),
    (",", ".", "%d.%m.%Y", ".", False),
    (",", "?", "%Y-%m-%d", ",", True),
    (";", "NA", "%d.%m.%Y", ",", True),
    (";", ".", "%Y-%m-%d", ",", False),
    (";", "", "%d.%m.%Y", ".", True),
    (";", "?", "%m/%d/%Y", ",", True),
    ("\t", "?", "%d.%m.%Y", ".", False),
    ("\t", "", "%m/%d/%Y", ",", True),
    ("\t", "NA", "%Y-%m-%d", ".", True),
    ("\t", ".", "%m/%d/%Y", ",", False),
]


def spelled(cents: int, decimal: str) -> str:
    return f"{cents // 100}{decimal}{cents % 100:02}"


def write_table(path, separator, mark, form, decimal, header):
    """The table as its maker writes it."""
    texts = {name: [str(value) for value in values] for name, values in TABLE.items()}
    texts["pay"] = [spelled(cents, decimal) for cents in TABLE["pay"]]
    texts["born"] = [day.strftime(form) for day in DAYS]
    for name in ("age", "born"):
        texts[name] = [mark if gone else text for gone, text in zip(ABSENT, texts[name], strict=True)]
    rows = zip(*texts.values(), strict=True)
    fields = [[f'"{text}"' if separator in text else text for text in row] for row in rows]
    lines = [separator.join(row) for row in ([list(texts)] if header else []) + fields]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "kind", FILES, ids=lambda kind: " ".join(map(str, kind)).replace("\t", "tab").replace("/", "-")
)
def test_every_column_is_inferred_as_its_maker_means_it(kind, tmp_path, capsys):
    separator, mark, form, decimal, header = kind
    raw = write_table(tmp_path / "raw.csv", *kind)
    assert main(["init", str(raw)]) == 0
    text = capsys.readouterr().out
    drafted = tomllib.loads(text)
    names = list(TABLE) if header else [f"column_{place}" for place in range(1, len(TABLE) + 1)]
    source = drafted["source"]
    assert (source["delimiter"], source["header"], source["decimal"]) == (separator, header, decimal)
    assert source["missing"] == ([mark] if mark else [])
    expected = TYPES | {"born": "date" if form == "%Y-%m-%d" else form, "ill": "category"}
    assert drafted["types"] == dict(zip(names, expected.values(), strict=True))
    # One reason each, and no value of the table.
    for name, kind_of in drafted["types"].items():
        assert f'"{name}" = "{kind_of}"  # ' in text
    assert not any(str(value) in text for name in ("person", "town", "zip") for value in TABLE[name])
    # A release reads what was inferred.
    policy = sz.Policy.from_dict(
        {
            **drafted,
            "budget": {"at_most": 2.0, "at_least": 0.4},
            "columns": {"sensitive": [names[-1]], "public": names[:-1]},
        }
    )
    with open_source(attach_description(raw, policy.description)) as table:
        [batch] = table.batches(table.files[0], names)
        read = dict(zip(TABLE, batch.values(), strict=True))
    assert read["pay"].to_pylist() == [cents / 100 for cents in TABLE["pay"]]
    assert read["age"].to_pylist() == [None if gone else age for gone, age in zip(ABSENT, TABLE["age"], strict=True)]
    assert read["born"].to_pylist() == [None if gone else day for gone, day in zip(ABSENT, DAYS, strict=True)]
    assert read["zip"].to_pylist() == TABLE["zip"]


@pytest.mark.parametrize(
    "kind", FILES, ids=lambda kind: " ".join(map(str, kind)).replace("\t", "tab").replace("/", "-")
)
def test_a_release_of_what_was_inferred_replaces_nothing_in_silence(kind, tmp_path, capsys):
    raw = write_table(tmp_path / "raw.csv", *kind)
    assert main(["init", str(raw)]) == 0
    drafted = tomllib.loads(capsys.readouterr().out)
    names = list(TABLE) if kind[-1] else [f"column_{place}" for place in range(1, len(TABLE) + 1)]
    named = dict(zip(TABLE, names, strict=True))
    policy = {
        **{key: value for key, value in drafted.items() if key != "receipt"},
        "budget": {"at_most": 2.0, "at_least": 0.4},
        "columns": {"sensitive": [named["ill"]], "public": names[1:-1], "drop": [named["person"]]},
        "channel": {"mechanism": "latent-classes", "bins": {named["born"]: "decade"}},
    }
    report = sz.release_file(raw, tmp_path / "out.parquet", sz.Policy.from_dict(policy))
    out = pa.parquet.read_table(tmp_path / "out.parquet").to_pandas()
    assert list(out.columns) == names[1:-1]
    others = {name: (out[name] == "(other)").mean() for name in names[1:-1]}
    text = " ".join(report.to_text().split())
    assert all(share <= 0.01 or f"another value of {name}" in text for name, share in others.items())
    assert max(others.values()) == 0
    # What is written are numbers, codes and dates as the table has them.
    assert set(out[named["zip"]].dropna()) <= set(TABLE["zip"])
    assert out[named["age"]].dropna().between(18, 90).all()
    assert out[named["pay"]].between(1000, 9000).all()
    assert {day.year // 10 for day in out[named["born"]].dropna()} <= {day.year // 10 for day in DAYS}


SPELLINGS = {
    "plus signs": ["+1", "+2.5", "-3"],
    "exponents": ["1e+05", "2E-3", "7"],
    "blanks": [" 1", "2 ", "  3.5"],
    "thousands": ['"1,234"', '"12,345,678.5"', "7"],
    "Swiss thousands": ["1'234.5", "12'345", "7"],
    "thousands of blanks": ["1 234.5", "12 345", "7"],
    "thousands of blanks that do not break": ["1\u00a0234.5", "12\u202f345", "1\u2009234"],
    "Swiss thousands of typesetters": ["1\u2019234.5", "12\u2019345", "7"],
    "minus of typesetters": ["\u22121", "-2.5", "7"],
    "whole numbers with a minus of typesetters": ["\u22121", "-2", "7"],
    "extended marks": ["1", ".a", "2.5"],
    "decimal commas": ['"1,5"', '"2,25"', "7"],
    "German": ['"1.234,5"', '"2,25"', '"12.345.678,00"'],
    "all digits": ["0.12345678901234567", "7", "3.1415926535897931"],
    "empty quotes": ["1", '""', "2.5"],
    "words": ["1", "unknown", "2.5"],
    "sheets": ["1", "#N/A", "2.5"],
    "dashes": ["1", "--", "2.5"],
    "infinite": ["1", "inf", "-Inf"],
}
NUMBERS = {
    "plus signs": [1, 2.5, -3], "exponents": [1e5, 2e-3, 7], "blanks": [1, 2, 3.5], "thousands": [1234, 12345678.5, 7],
    "Swiss thousands": [1234.5, 12345, 7], "thousands of blanks": [1234.5, 12345, 7],
    "thousands of blanks that do not break": [1234.5, 12345, 1234],
    "Swiss thousands of typesetters": [1234.5, 12345, 7],
    "minus of typesetters": [-1, -2.5, 7], "whole numbers with a minus of typesetters": [-1, -2, 7],
    "extended marks": [1, None, 2.5], "decimal commas": [1.5, 2.25, 7],
    "German": [1234.5, 2.25, 12345678], "all digits": [0.12345678901234567, 7, 3.1415926535897931],
    "empty quotes": [1, None, 2.5], "words": [1, None, 2.5], "sheets": [1, None, 2.5], "dashes": [1, None, 2.5],
    "infinite": [1, np.inf, -np.inf],
}  # fmt: skip


@pytest.mark.parametrize("name", SPELLINGS)
def test_numbers_are_read_however_they_are_spelled(name, tmp_path):
    (tmp_path / "raw.csv").write_text("\n".join(["x,y", *(f"{text},a" for text in SPELLINGS[name])]) + "\n")
    table = CsvSource.open(tmp_path / "raw.csv")
    said, readers = table.infer_types(["x", "y"])
    [batch] = table.reading(readers).batches(table.files[0], ["x", "y"])
    assert batch["x"].to_pylist() == NUMBERS[name]
    assert list(readers) == ["x"]
    # What is inferred is what a description reads.
    again = CsvSource.open(
        tmp_path / "raw.csv", description=said.with_changes(types={"x": "quantity", "y": "category"})
    )
    [batch] = again.batches(again.files[0], ["x"])
    assert batch["x"].to_pylist() == NUMBERS[name]


@pytest.mark.parametrize("text", ["0x1F", "1.2.3", "seven", "1,23,4", "12-", "90+", "1e", "--5"])
def test_what_is_no_number_leaves_a_column_as_it_stands(text, tmp_path):
    (tmp_path / "raw.csv").write_text(f'x,y\n1,a\n2,b\n"{text}",c\n')
    table = CsvSource.open(tmp_path / "raw.csv")
    assert "x" not in table.infer_types(["x"])[1]
    with pytest.raises(ColumnError, match="column 'x' must contain only numbers") as caught:
        CsvSource.open(tmp_path / "raw.csv", description=sz.TableDescription(types={"x": "quantity"}))
    assert text not in str(caught.value)


@pytest.mark.parametrize(
    ("texts", "form"),
    [
        (["2024-01-31", "0001-01-01", "9999-12-31"], "date"),
        (["31DEC1999", "01jan2000"], "%d%b%Y"),
        (["March 3, 2020", "May 12, 1650"], "%B %d, %Y"),
        (["20240131", "19991231"], "%Y%m%d"),
        (["3/2/2020", "31/12/1999"], "%d/%m/%Y"),
        (["3/2/2020", "12/31/1999"], "%m/%d/%Y"),
        (["31.12.1999 07:15", "1.1.2000 23:59"], "%d.%m.%Y %H:%M"),
        (["2024-01-31T12:00:00Z", "2024-01-31T12:00:00.5+02:00"], "date"),
        (["0000-00-00", "2024-01-31"], "date"),
        (["00.00.0000", "31.01.2024"], "%d.%m.%Y"),
        (["0000-00-00 00:00:00", "2024-01-31 07:15:00"], "date"),
        (["30.2.2020", "1.1.2020"], None),
        (["99999999", "20240131"], None),
        (["2024-13-01"], None),
    ],
)
def test_dates_are_told_by_their_form(texts, form, tmp_path):
    (tmp_path / "raw.csv").write_text("x\n" + "".join(f'"{text}"\n' for text in texts))
    readers = CsvSource.open(tmp_path / "raw.csv").infer_types(["x"])[1]
    assert (readers["x"].form if "x" in readers else None) == form or (form is None and not readers["x"].form)


HEADLESS = ["yes,01234,47", "no,90210,31", "yes,01234,52", "no,01234,47", "yes,90210,19", "no,90210,64"]


@pytest.mark.parametrize(
    "rows", [HEADLESS, [row.replace(",", ";") for row in HEADLESS], ["2020-01-01,a", "2021-05-03,b"], ["a,b"] * 9]
)
def test_a_row_is_never_taken_for_a_header(rows, tmp_path, capsys):
    raw = tmp_path / "raw.csv"
    raw.write_text("\n".join(rows) + "\n")
    assert main(["init", str(raw)]) == 0
    drafted = tomllib.loads(capsys.readouterr().out)
    assert drafted["source"]["header"] is False
    assert list(drafted["types"])[:2] == ["column_1", "column_2"]
    first = rows[0].replace(";", ",").split(",")
    asked = ["-s", first[0], "-x", first[1], "--at-most", "2", "--at-least", "0"]
    assert main(["release", str(raw), "-o", str(tmp_path / "out.csv"), *asked]) == 3
    said = capsys.readouterr().err
    assert "looks like a row" in said
    assert len(said.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["raw.csv"]


@pytest.mark.parametrize("row", ["s,x,7", "1990,1991,1992"])
def test_who_knows_the_header_says_so(row, tmp_path):
    (tmp_path / "raw.csv").write_text("\n".join([row, *["1,2,3", "2,2,3"] * 4]) + "\n")
    for header, names in ((True, row.split(",")), (False, ["column_1", "column_2", "column_3"])):
        table = CsvSource.open(tmp_path / "raw.csv", description=sz.TableDescription(header=header))
        assert (table.schema.names, table.n_rows) == (names, 9 - header)


@pytest.mark.parametrize("ending", [".csv", ".txt", ".dat", ".tsv"])
@pytest.mark.parametrize("packed", ["", ".gz", ".bz2", ".xz", ".zip"])
def test_text_is_read_under_its_usual_names_and_compressed(ending, packed, tmp_path):
    content, path = b"s\tx\np\ta\nn\tb\n" * 1, tmp_path / f"raw{ending}{packed}"
    if packed == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("raw.csv", content)
            archive.writestr("__MACOSX/._raw.csv", b"notes")
    else:
        kinds = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
        path.write_bytes(kinds[packed](content))
    with open_source(path) as table:
        [batch] = table.batches(table.files[0], ["s", "x"])
    assert {name: column.to_pylist() for name, column in batch.items()} == {"s": ["p", "n"], "x": ["a", "b"]}


def archived(*names: str) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name in names:
            archive.writestr(name, b"s,x\np,a\n")
    return content.getvalue()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (archived("a.csv", "b.csv"), "contains 2 files"),
        (archived(), "NUL"),
        (archived("a.csv")[:40], "damaged"),
        (bz2.compress(b"s,x\np,a\n" * 999)[:-9], "damaged"),
        (lzma.compress(b"s,x\np,a\n" * 999)[:-9], "damaged"),
    ],
    ids=["two files", "no file", "a part of a zip", "a part of a bz2", "a part of an xz"],
)
def test_archives_that_hold_no_table_are_refused(content, says, tmp_path):
    (tmp_path / "raw.csv.zip").write_bytes(content)
    with pytest.raises((SourceError, ColumnError), match=says), open_source(tmp_path / "raw.csv.zip") as table:
        list(table.batches(table.files[0], ["s"]))


POLICY = {
    "version": 1,
    "columns": {"sensitive": ["s"], "public": ["x"]},
    "budget": {"at_most": 2.0, "at_least": 0.4},
}


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"types": {"x": "quantiti"}}, "did you mean 'quantity'"),
        ({"types": {"x": "%d"}}, "the format of its dates"),
        ({"source": {"decimal": ",", "thousands": ","}}, "must be different, but both are"),
        ({"source": {"header": "no"}}, "source.header must be"),
        ({"source": {"missing": "NA"}}, "source.missing must be"),
        ({"source": {"decimals": ","}}, "did you mean 'decimal'"),
    ],
)
def test_a_description_that_says_nothing_is_refused(more, says):
    with pytest.raises(PolicyError, match=says):
        sz.Policy.from_dict({**POLICY, **more})


def test_functions_take_what_a_policy_says(tmp_path):
    raw = tmp_path / "raw.csv"
    raw.write_text("s;x\n" + "p;1,5\nn;2,5\nn;-\n" * 200)
    said = sz.TableDescription(delimiter=";", missing=["-"], decimal=",", types={"x": "quantity"})
    merging = sz.SubsetMerging(sz.LiftBudget(at_most=9, at_least=0), sensitive="s", public=["x"])
    sz.release_file(raw, tmp_path / "out.parquet", merging, description=said)
    assert pa.types.is_floating(pa.parquet.read_schema(tmp_path / "out.parquet").field("x").type)
    policy = sz.Policy.from_dict(
        {**POLICY, "source": {"delimiter": ";", "missing": ["-"], "decimal": ","}, "types": {"x": "quantity"}}
    )
    assert policy.description == said
    with pytest.raises(InvalidParameter, match="must be a TableDescription"):
        sz.release_file(raw, tmp_path / "b.csv", merging, description=";")


def test_a_policy_may_make_a_code_of_a_number_and_a_mark_of_a_text(tmp_path):
    raw = tmp_path / "raw.csv"
    raw.write_text("s,zip,note\n" + "p,1234,n.b.\nn,1235,a\n" * 20)
    said = sz.TableDescription(missing=["n.b."], types={"zip": "code", "note": "category"})
    table = CsvSource.open(raw, description=said)
    [batch] = table.batches(raw, ["zip", "note"])
    assert set(batch["zip"].to_pylist()) == {"1234", "1235"}
    assert set(batch["note"].to_pylist()) == {None, "a"}
    with pytest.raises(ColumnError, match="no column 'zap'"):
        CsvSource.open(raw, description=sz.TableDescription(types={"zap": "code"}))


@pytest.mark.parametrize("name", ["PWGTP", "fnlwgt", "survey_weight", "wt", "WTFINL", "weight"])
def test_weights_and_row_numbers_are_not_offered(name, tmp_path, capsys):
    rows = [f"{place},{RNG.integers(1, 90)},{RNG.choice(['a', 'b'])},yes" for place in range(100)]
    for first in ("", "Unnamed: 0", "id"):
        (tmp_path / "raw.csv").write_text("\n".join([f'"{first}",{name},town,ill', *rows]) + "\n")
        assert main(["init", str(tmp_path / "raw.csv")]) == 0
        drafted = tomllib.loads(capsys.readouterr().out)
        assert drafted["types"] == {first: "row number", name: "weight", "town": "category", "ill": "category"}
        assert drafted["columns"]["drop"] == [first, name]


MOSTLY = {
    "a word of one's own": ([str(j * 37 % 90) for j in range(95)], ["did not say"] * 5, "numbers", "quantity"),
    "below what can be measured": ([f"{j * 37 % 90 / 10}" for j in range(90)], ["<0.5"] * 10, "numbers", "quantity"),
    "an open end": ([str(j % 90) for j in range(98)], ["90+", "90+"], "numbers", "quantity"),
    "one text in a column that names rows": ([str(j * 7919) for j in range(99)], ["see below"], "numbers", "quantity"),
    "thousands": ([f'"{1 + j},{j % 9}00"' for j in range(99)], ["about 5000"], "numbers", "quantity"),
    "dates": ([f"{1 + j % 28}.{1 + j % 12}.1980" for j in range(95)], ["in spring"] * 5, "dates", "date"),
    "dates in two forms": ([f"1980-01-{1 + j % 28:02}" for j in range(95)], ["1980"] * 5, "dates", "date"),
}


@pytest.mark.parametrize("name", MOSTLY)
def test_texts_most_of_which_are_numbers_or_dates_say_what_to_do(name, tmp_path, capsys):
    """One odd text makes texts of all; its owner reads how to list it, which mends the column."""
    texts, others, kind, meaning = MOSTLY[name]
    rows = "".join(f"{text},{'pn'[place % 2]}\n" for place, text in enumerate([*texts, *others]))
    (tmp_path / "raw.csv").write_text(f"x,s\n{rows}")
    assert main(["init", str(tmp_path / "raw.csv")]) == 0
    text = capsys.readouterr().out
    drafted = tomllib.loads(text)
    assert drafted["types"]["x"] in ("category", "code", "identifier")
    [line] = [line for line in text.splitlines() if line.startswith('"x" = ')]
    assert line.endswith(f', most of them {kind}: if the others mean "missing", list them there and write "{meaning}"')
    assert not any(other in text for other in others if not other.isdigit())
    said = sz.TableDescription(missing=sorted({*others}), types={"x": meaning})
    [batch] = (table := CsvSource.open(tmp_path / "raw.csv", description=said)).batches(table.files[0], ["x"])
    assert batch["x"].null_count == len(others)


@pytest.mark.parametrize("texts", [["A10", "250"], ["01067", "89073"], ["1-2", "3-4"], ["a", "b"], ["1", "2"]])
def test_of_other_texts_nothing_is_said(texts, tmp_path, capsys):
    (tmp_path / "raw.csv").write_text("x,s\n" + "".join(f"{text},p\n" for text in texts * 40))
    assert main(["init", str(tmp_path / "raw.csv")]) == 0
    assert "most of them" not in capsys.readouterr().out


@pytest.mark.parametrize("sign", [" ", "#", "^", "~"])
def test_a_table_of_one_column_asks_for_the_sign_between_fields(sign, tmp_path, capsys):
    rows = [["ill", "town", "age"], *(["pn"[age % 2], "abba"[age], str(age)] for age in range(4))]
    (tmp_path / "raw.csv").write_text("\n".join(map(sign.join, rows)) + "\n")
    assert main(["init", str(tmp_path / "raw.csv")]) == 0
    assert "name another one with --delimiter" in capsys.readouterr().out
    asked = ["release", str(tmp_path / "raw.csv"), "-o", str(tmp_path / "out.csv"), "-s", "ill", "-x", "town"]
    assert main([*asked, "--at-most", "2", "--at-least", "0"]) == 3
    assert "name another sign with --delimiter" in capsys.readouterr().err
    assert main(["init", str(tmp_path / "raw.csv"), "--delimiter", sign]) == 0
    text = capsys.readouterr().out
    assert list(tomllib.loads(text)["types"]) == rows[0]
    assert "--delimiter" not in text


def test_two_texts_with_digits_are_a_category(tmp_path, capsys):
    (tmp_path / "raw.csv").write_text(
        "income,group\n" + "".join(f"{'<=' if j % 3 else '>'}50K,g{j % 3}\n" for j in range(99))
    )
    assert main(["init", str(tmp_path / "raw.csv")]) == 0
    assert tomllib.loads(capsys.readouterr().out)["types"] == {"income": "category", "group": "code"}


def test_a_weight_of_a_body_is_a_quantity(tmp_path, capsys):
    (tmp_path / "raw.csv").write_text(
        "height,weight\n" + "".join(f"{160 + j % 40},{50 + j % 31}.5\n" for j in range(99))
    )
    assert main(["init", str(tmp_path / "raw.csv")]) == 0
    assert tomllib.loads(capsys.readouterr().out)["types"] == {"height": "quantity", "weight": "quantity"}


@pytest.mark.parametrize("form", ["%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%d%b%Y"])
@pytest.mark.parametrize("bins", ["decade", ["1900-01-01", "1970-01-01", "2030-01-01"]])
def test_dates_of_text_are_cut_however_they_are_written(form, bins, tmp_path):
    rows = [f"{day.strftime(form)},{ill}" for day, ill in zip(DAYS * 5, TABLE["ill"] * 5, strict=True)]
    (tmp_path / "raw.csv").write_text("\n".join(["born,ill", *rows]) + "\n")
    settings = {"sensitive": "ill", "public": ["born"], "bins": {"born": bins}}
    budget = sz.LiftBudget(at_most=9, at_least=0)
    sz.release_file(tmp_path / "raw.csv", tmp_path / "a.csv", sz.SubsetMerging(budget, **settings))
    assert "0s" in (tmp_path / "a.csv").read_text() or "1970-01-01" in (tmp_path / "a.csv").read_text()
    # Whole tables read dates in any form, too.
    found = sz.LatentClassRelease(budget, **settings).numbers
    assert CsvSource.open(tmp_path / "raw.csv", found).schema.field("born").type == pa.date32()


@pytest.mark.parametrize(
    "values",
    [
        [2**53 + 1, None, 2**60],
        [float("inf"), float("-inf"), 1.0],
        [float("nan"), None, 2.5],
        [None, None, None],
        [2**63 - 1],
    ],
)
def test_numbers_of_any_size_have_a_type(values, tmp_path, capsys):
    pyarrow.parquet.write_table(pa.table({"x": values * 20, "s": ["p"] * 20 * len(values)}), tmp_path / "raw.parquet")
    assert main(["init", str(tmp_path / "raw.parquet")]) == 0
    drafted = tomllib.loads(capsys.readouterr().out)
    assert drafted["types"]["x"] in ("quantity", "category")
    assert "source" not in drafted
