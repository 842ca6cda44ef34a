"""A folder or file that is replaced, interrupted at every line: the old one whole or the new one, and no trace."""

from __future__ import annotations

import contextlib
import shutil
import signal
import sys

import pytest

from sanitize._util import outputs, system
from sanitize._util.outputs import new_file
from sanitize._util.system import defer_signals

# What is interrupted may leave a listing of a folder to be closed by itself.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
WATCHED = {module.__file__ for module in (contextlib, shutil, outputs, system)}


@pytest.fixture(autouse=True)
def as_at_a_prompt():
    """Python's own answer to Ctrl-C, which a shell takes away from what it runs in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupted_at(line, work):
    """Lines that some work took, or None where Ctrl-C came as its line of this number began."""
    seen = 0

    def watch(frame, event, _):
        nonlocal seen
        if frame.f_code.co_filename not in WATCHED:
            return None
        if event == "line":
            seen += 1
            if seen == line:
                signal.raise_signal(signal.SIGINT)
        return watch

    before = sys.gettrace()
    sys.settrace(watch)
    try:
        work()
    except KeyboardInterrupt:
        return None
    finally:
        sys.settrace(before)
    return seen


def folder(path, content):
    path.mkdir()
    folder_of(path, content)


def folder_of(path, content):
    for i in range(3):
        (path / f"part-{i:05d}.parquet").write_text(content)


def replace_folder(path):
    with outputs.outputs() as made, made.folder(path) as parts:
        folder_of(parts, "new")


def replace_file(path):
    with new_file(path) as stream:
        stream.write(b"new")


def replace_both(path):
    """A folder, and a report of it beside it."""
    with outputs.outputs() as made:
        with made.folder(path / "parts") as parts:
            folder_of(parts, "new")
        made.text(path / "report", "new")


def content_of(path):
    files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    return [file.read_text() for file in files]


def lay_out(way, path):
    if way == "file":
        path.write_text("old")
    elif way == "folder":
        folder(path, "old")
    else:
        path.mkdir()
        folder(path / "parts", "old")
        (path / "report").write_text("old")


WAYS = {"folder": replace_folder, "file": replace_file, "folder and file": replace_both}


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_what_is_replaced_is_old_or_new_whatever_line_is_interrupted(way, tmp_path):
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    work, line, ends = WAYS[way], 0, []
    while True:
        line += 1
        place = tmp_path / str(line)
        place.mkdir()
        path = place / "out"
        lay_out(way, path)
        took = interrupted_at(line, lambda path=path: work(path))
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        found = content_of(path)
        assert found in (["old"] * len(found), ["new"] * len(found)), line
        assert len(found) == {"file": 1, "folder": 3}.get(way, 4), line
        assert [entry.name for entry in place.iterdir()] == ["out"], line
        assert not list(path.rglob(".*")), line
        ends.append(found[0])
        shutil.rmtree(place)
        if took is not None:
            break
    assert line > 20
    assert ends == sorted(ends, key=["old", "new"].index)


def test_an_interruption_is_put_off_and_not_lost():
    done = []
    with pytest.raises(KeyboardInterrupt):
        interrupted_inside(done)
    assert done == ["first", "second"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def interrupted_inside(done):
    with defer_signals():
        done.append("first")
        signal.raise_signal(signal.SIGINT)
        done.append("second")
