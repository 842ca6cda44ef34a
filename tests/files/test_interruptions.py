"""A folder or file that is replaced, interrupted at every line: the old one whole or the new one, and no trace."""

from __future__ import annotations

import contextlib
import shutil
import signal
import sys

import pytest

from sanitize._files import second_name, signals, target
from sanitize._files.signals import uninterrupted
from sanitize._files.target import Target, new_file

# What is interrupted may leave a listing of a folder to be closed by itself.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
WATCHED = {module.__file__ for module in (contextlib, shutil, second_name, signals, target)}


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
    for i in range(3):
        (path / f"part-{i:05d}.parquet").write_text(content)


def replace_folder(path):
    with Target(path, as_folder=True).parts(3) as parts:
        for part in parts:
            part.write_text("new")


def replace_file(path):
    with new_file(path) as stream:
        stream.write(b"new")


def keep_and_replace(path):
    with second_name.second_name(path):
        replace_folder(path)


def content_of(path):
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    return [file.read_text() for file in files]


WAYS = {"folder": replace_folder, "file": replace_file, "folder with a second name": keep_and_replace}


@pytest.mark.parametrize("way", WAYS)
def test_what_is_replaced_is_old_or_new_whatever_line_is_interrupted(way, tmp_path):
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    work, line, ends = WAYS[way], 0, []
    while True:
        line += 1
        place = tmp_path / str(line)
        place.mkdir()
        path = place / "out"
        path.write_text("old") if way == "file" else folder(path, "old")
        took = interrupted_at(line, lambda path=path: work(path))
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        found = content_of(path)
        assert found in (["old"] * len(found), ["new"] * len(found)), line
        assert len(found) == (1 if way == "file" else 3), line
        assert [entry.name for entry in place.iterdir()] == ["out"], line
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
    with uninterrupted():
        done.append("first")
        signal.raise_signal(signal.SIGINT)
        done.append("second")
