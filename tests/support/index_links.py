"""Links of the README as a package index shows them, where nothing stands beside the page: ``index_links.py WHEEL``."""

from __future__ import annotations

import re
import sys
import zipfile
from pathlib import Path

import readme_renderer.markdown


def make_page(wheel: Path) -> str:
    """The page that an index shows: what follows the fields of a wheel's metadata."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return archive.read(name).decode("utf-8").partition("\n\n")[2]


def dead_links(text: str) -> list[str]:
    """Links and pictures of a page that lead nowhere without the files beside it."""
    page = readme_renderer.markdown.render(text)
    assert page is not None, "an index would show this page as plain text"
    places = {f"#{name}" for name in re.findall(r'id="([^"]*)"', page)}
    links = re.findall(r'(?:href|src)="([^"]*)"', page)
    return [link for link in links if not link.startswith("https://") and link not in places]


if __name__ == "__main__":
    dead = dead_links(make_page(Path(sys.argv[1])))
    print(f"links of the README that an index cannot follow: {dead}")
    sys.exit(bool(dead))
