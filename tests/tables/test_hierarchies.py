"""Files of hierarchies: one value a line and its ancestors, with whatever sign between them."""

from __future__ import annotations

import pytest

from sanitize.errors import InvalidParameter
from sanitize.tables.files.hierarchies import read_hierarchy

LINES = [["Ulm", "south", "any"], ["Bonn", "west", "any"], ["Bad Ems", "west", "any"]]
FOUND = {line[0]: tuple(line[1:]) for line in LINES}


@pytest.mark.parametrize("sign", [";", ",", "\t", "|", ", "])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_any_usual_sign_stands_between_ancestors(sign, end, tmp_path):
    (tmp_path / "town.csv").write_bytes(end.join(map(sign.join, LINES)).encode() + end.encode())
    assert read_hierarchy(tmp_path / "town.csv", "town") == FOUND


@pytest.mark.parametrize("value", ["Ulm, old", "a,b,c", "1,5"])
def test_values_with_commas_keep_them_beside_semicolons(value, tmp_path):
    (tmp_path / "town.csv").write_text(f"{value};south, or east;any\nBonn;west;any\n")
    assert read_hierarchy(str(tmp_path / "town.csv"), "town")[value] == ("south, or east", "any")
    (tmp_path / "town.csv").write_text(f'"{value}",south,any\nBonn,west,any\n')
    assert read_hierarchy(tmp_path / "town.csv", "town")[value] == ("south", "any")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "it has no values"),
        ("Ulm;south\nBonn;west;any\n", "line 2 has"),
        ("Ulm,south\nBonn,west,any\n", "line 2 has 3 entries"),
        ('"Ulm;south\n', "cannot be read as UTF-8 text"),
    ],
)
def test_what_is_no_hierarchy_is_refused(text, says, tmp_path):
    (tmp_path / "town.csv").write_text(text)
    with pytest.raises(InvalidParameter, match=f"hierarchy of 'town': .*{says}"):
        read_hierarchy(tmp_path / "town.csv", "town")
