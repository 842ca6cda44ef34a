"""``python -m sanitize`` is the ``sanitize`` command."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command; Ctrl-C ends it in one line even while it is still being loaded.

    Returns
    -------
    int
        Exit code.
    """
    try:
        from sanitize.cli import main as command

        return command()
    except KeyboardInterrupt:
        print("sanitize: interrupted; nothing was written", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
