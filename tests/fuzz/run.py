"""One mutant in a child process with limits on memory and time, and what came of it."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from fuzz.cases import Mutant

MEMORY = 1 << 30  # beyond what the process has when it starts
CPU_SECONDS = 60
SECONDS = 600  # many mutants may share a processor with other work
_REFUSED = (1, 2, 3, 4)
_WRITTEN = ("book", "units")  # ledgers, into which a run records


def outcome_of(mutant: Mutant, disk: Path | None = None) -> tuple[str, str]:
    """What a mutant led to: released, refused, or a fault; and the last words.

    A fault is a signal, a traceback, an internal error, more than one line, a word of the data, a file that a failed
    run left behind or changed, or one that is there in part. Where a mutant has little room, a file system that is
    given is filled up to it; without one every file may have so many bytes at most.
    """
    size = 2 * sum(map(len, mutant.files.values()))
    if mutant.room is None or (disk is not None and size > shutil.disk_usage(disk).free):
        disk = None
    folder = Path(tempfile.mkdtemp(prefix="fuzz-", dir=disk))
    try:
        for name, content in mutant.files.items():
            (folder / name).write_bytes(content)
        if disk is not None and mutant.room is not None:
            _fill(folder / ".ballast", mutant.room)
        before = _files(folder)
        code, killed, words = _letter_gap(mutant, folder, limited=disk is None)
        after = _files(folder)
        new = {name: content for name, content in after.items() if name not in before and not name.endswith(".lock")}
        kept = [name for name in before if name not in _WRITTEN or code]
        if any(after.get(name) != before[name] for name in kept):
            return "changed an input", words
        return _judged(code, killed, words, new), words[-2000:]
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _files(folder: Path) -> dict[str, bytes]:
    """All files below a folder but those of the fuzzer."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else b""
        for path in folder.rglob("*")
        if path.name not in (".out", ".ballast")
    }


def _fill(ballast: Path, room: int) -> None:
    """Take what a file system has, but for some room."""
    with ballast.open("wb", buffering=0) as stream:
        try:
            while True:
                stream.write(bytes(4096))
        except OSError:
            stream.truncate(max(0, stream.tell() - room))


def _judged(code: int, killed: int, words: str, new: dict[str, bytes]) -> str:
    if killed:
        return f"killed by signal {killed}"
    lines = [line for line in words.splitlines() if not line.startswith("sanitize: warning: ")]
    if "Traceback" in words or code == 5 or code not in (0, *_REFUSED):
        return f"internal error ({code})"
    if "SECRET" in words:
        return "a word of the data in a message"
    if code == 0:
        parts = [name for name, content in new.items() if not _is_whole(name, content)]
        return "a part of a file" if parts else "released"
    if code != 1 and (len(lines) != 1 or len(lines[0]) > 2000):
        return f"{len(lines)} lines of error"
    return "left a file behind" if new else "refused"


def _is_whole(name: str, content: bytes) -> bool:
    """Whether a file ends as its kind does."""
    try:
        if name.endswith(".parquet"):
            return bool(pq.read_table(pa.BufferReader(content)).validate() is None)
        if name.endswith(".json"):
            return isinstance(json.loads(content), dict)
    except (ValueError, OSError, pa.ArrowException):
        return False
    return content.endswith((b"\n", b"</html>")) and not Path(name).name.startswith(".")


def _letter_gap(mutant: Mutant, folder: Path, *, limited: bool) -> tuple[int, int, str]:
    """Exit code and signal of a child that runs a mutant in its folder, and what it said of errors."""
    receiving, sending = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(receiving)
        os.dup2(sending, 2)  # a full disk has no room for words
        _run_and_leave(mutant, folder, limited=limited)
    os.close(sending)
    words = _all_of(receiving, time.monotonic() + SECONDS)
    os.close(receiving)
    until = time.monotonic() + 1 if words is not None else 0
    pause = 0.001
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            said = (words or b"").decode("utf-8", "replace")
            return (os.WEXITSTATUS(status), 0, said) if os.WIFEXITED(status) else (0, os.WTERMSIG(status), said)
        if time.monotonic() > until:
            os.kill(child, 9)
        time.sleep(pause)
        pause = min(2 * pause, 0.05)


def _all_of(pipe: int, until: float) -> bytes | None:
    """All that comes out of a pipe until it is closed; None if it is not in time."""
    found = b""
    while select.select([pipe], [], [], max(0.0, until - time.monotonic()))[0]:
        more = os.read(pipe, 1 << 16)
        if not more:
            return found
        found = (found + more)[-(1 << 20) :]
    return None


def _run_and_leave(mutant: Mutant, folder: Path, *, limited: bool) -> None:
    code = 70
    try:
        os.chdir(folder)
        tempfile.tempdir = str(folder)
        os.dup2(os.open(".out", os.O_WRONLY | os.O_CREAT, 0o600), 1)
        sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", closefd=False)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, size + MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        if limited and mutant.room is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (mutant.room, mutant.room))
        code = mutant.run()
    except BaseException:
        traceback.print_exc()
        code = 70
    finally:
        with contextlib.suppress(OSError):  # no room
            sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
