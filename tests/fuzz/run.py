"""One mutant in a child process with limits on memory and time, and what came of it."""

from __future__ import annotations

import os
import resource
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path

from fuzz.cases import Mutant

MEMORY = 2 << 30  # beyond what the process has when it starts
CPU_SECONDS = 60
SECONDS = 600  # many mutants may share a processor with other work
_REFUSED = (1, 2, 3, 4)
_WRITTEN = ("book", "units")  # ledgers, into which a run records


def outcome_of(mutant: Mutant) -> tuple[str, str]:
    """What a mutant led to: released, refused, or a fault; and the last words.

    A fault is a signal, a traceback, an internal error, more than one line, a word of the data, or a file that a
    failed run left behind.
    """
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    try:
        for name, content in mutant.files.items():
            (folder / name).write_bytes(content)
        before = {path.name: path.read_bytes() for path in folder.iterdir()}
        code, killed = _apart(mutant, folder)
        words = (folder / ".err").read_bytes().decode("utf-8", "replace")
        after = {path.name: path.read_bytes() for path in folder.iterdir() if path.name not in (".err", ".out")}
        new = {name for name in after if name not in before and not name.endswith(".lock")}
        changed = any(after.get(name) != content for name, content in before.items() if name not in _WRITTEN)
        outcome = "changed an input" if changed else _judged(code, killed, words, new)
        return outcome, words[-2000:]
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _judged(code: int, killed: int, words: str, new: set[str]) -> str:
    if killed:
        return f"killed by signal {killed}"
    lines = [line for line in words.splitlines() if not line.startswith("sanitize: warning: ")]
    if "Traceback" in words or code == 5 or code not in (0, *_REFUSED):
        return f"internal error ({code})"
    if "SECRET" in words:
        return "a word of the data in a message"
    if code == 0:
        return "released"
    if code != 1 and (len(lines) != 1 or len(lines[0]) > 2000):
        return f"{len(lines)} lines of error"
    return "left a file behind" if new else "refused"


def _apart(mutant: Mutant, folder: Path) -> tuple[int, int]:
    """Exit code and signal of a child that runs a mutant in its folder."""
    child = os.fork()
    if child == 0:
        _run_and_leave(mutant, folder)
    until = time.monotonic() + SECONDS
    pause = 0.001
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return (os.WEXITSTATUS(status), 0) if os.WIFEXITED(status) else (0, os.WTERMSIG(status))
        if time.monotonic() > until:
            os.kill(child, 9)
        time.sleep(pause)
        pause = min(2 * pause, 0.05)


def _run_and_leave(mutant: Mutant, folder: Path) -> None:
    code = 70
    try:
        os.chdir(folder)
        for number, name in ((1, ".out"), (2, ".err")):
            os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT, 0o600), number)
        sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", closefd=False)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, size + MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        code = mutant.run()
    except BaseException:
        traceback.print_exc()
        code = 70
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
