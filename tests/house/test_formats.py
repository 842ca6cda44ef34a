"""Formats of files: each says its name and its version, which is 1, and the page on stability lists them all."""

from __future__ import annotations

import importlib
import json
import pkgutil
import re
from pathlib import Path
from typing import Literal, get_args, get_origin, get_type_hints

import pytest

import sanitize as sz
from sanitize._util.declared import Declared
from sanitize.auditing.verify import _verification
from sanitize.policy._declaration import VERSION
from sanitize.report import _document, _judgement

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "stability.md").read_text(encoding="utf-8")


def declared(form: type[Declared]) -> dict[str, type[Declared]]:
    """Forms below this one that have a format, by its name."""
    found = {}
    for below in form.__subclasses__():
        found |= declared(below)
        if "format" in below.__annotations__:
            (name,) = get_args(get_type_hints(below)["format"])
            found[name] = below
    return found


def written() -> dict[str, object]:
    """Name -> version of every format that the library writes."""
    for module in pkgutil.walk_packages(sz.__path__, "sanitize."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    found: dict[str, object] = {"version": VERSION}
    for name, form in declared(Declared).items():
        literal = get_type_hints(form)["version"]
        assert get_origin(literal) is Literal
        (found[name],) = get_args(literal)
    found |= {_document.SCHEMA: _document.VERSION, _judgement.SCHEMA: _judgement.VERSION}
    return found | {_verification._SCHEMA["schema"]: _verification._SCHEMA["version"]}


def test_the_page_lists_every_format_at_version_1():
    for engine in ("dask", "pyspark"):  # every module is loaded
        pytest.importorskip(engine, reason=f"{engine} is not installed")
    table = PAGE[PAGE.index("## Formats") : PAGE.index("## Older files")]
    listed = re.findall(r"^\| .* \| `([\w/-]+)`(?: alone)? \| (\d+) \|$", table, re.MULTILINE)
    assert {name: int(version) for name, version in listed} == written()
    assert len(listed) == 10
    assert {version for _, version in listed} == {"1"}


@pytest.mark.parametrize("read", [sz.SavedRelease.from_json, sz.Channel.from_json, sz.LeakageReport.from_json])
@pytest.mark.parametrize("version", [0, 2, True, "1", None])
def test_another_version_is_refused_by_name(read, version):
    channel = json.loads(sz.Channel.identity(3).to_json())
    head = {"format": "sanitize/release", "schema": "sanitize/leakage-report"}
    text = json.dumps(channel | {"version": version} if read == sz.Channel.from_json else head | {"version": version})
    with pytest.raises(sz.SanitizeError, match="version"):
        read(text)


def test_the_changelog_of_what_is_not_out_yet_is_one_screen():
    assert len((ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()) <= 45


def test_the_site_has_the_policys_schema_and_a_list_of_its_pages_whose_links_lead_somewhere():
    conf = (ROOT / "docs" / "conf.py").read_text(encoding="utf-8")
    extra = re.search(r"^html_extra_path = \[(.*)\]", conf, re.MULTILINE)[1]
    files = [ROOT / "docs" / name for name in re.findall(r'"([^"]+)"', extra)]
    assert [path.name for path in files if path.is_file()] == ["llms.txt", "policy.schema.json"]
    links = re.findall(r"\]\(([^)]+)\)", files[0].read_text(encoding="utf-8"))
    assert len(links) > 15
    for link in links:
        page = ROOT / "docs" / link
        assert link == files[1].name or page.with_suffix(".md").exists() or page.with_suffix(".rst").exists(), link
