"""Entry point of ``python -m sanitize``, which runs the ``sanitize`` command.

Before this file runs, while Python starts and imports the package (for some hundredths of a second), Ctrl-C gives a
traceback of Python itself.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

# The same words as after a release is interrupted, though nothing has been imported yet.
_INTERRUPTED = "sanitize: interrupted; nothing was written"


def main() -> int:
    """Run the command and return its exit code; Ctrl-C ends the command with a one-line message, even during imports.

    Returns
    -------
    int
        Exit code.
    """

    def stop(_number: int, _frame: FrameType | None) -> None:
        os.write(2, f"{_INTERRUPTED}\n".encode())
        os._exit(130)

    # An exception during an import may be swallowed, or replaced by another error.
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
