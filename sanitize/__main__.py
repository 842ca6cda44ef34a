"""``python -m sanitize`` is the ``sanitize`` command.

Ctrl-C before this file runs, while Python starts and reads the front page of the package (some hundredths of a second),
is Python's own to answer, and it answers with a traceback.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

_INTERRUPTED = "sanitize: interrupted; nothing was written"


def main() -> int:
    """Run the command; Ctrl-C ends it with one line, even while the library is still loading.

    Returns
    -------
    int
        Exit code.
    """

    def stop(_number: int, _frame: FrameType | None) -> None:
        os.write(2, f"{_INTERRUPTED}\n".encode())
        os._exit(130)

    # An exception that is raised within an import may be swallowed by it, or made an error of another kind.
    is_ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_ours:
        signal.signal(signal.SIGINT, stop)
    try:
        from sanitize.cli import main as command

        if is_ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        return command()
    except KeyboardInterrupt:
        print(_INTERRUPTED, file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
