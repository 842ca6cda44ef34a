"""``python -m sanitize`` is the ``sanitize`` command."""

import sys

from sanitize.cli import main

if __name__ == "__main__":
    sys.exit(main())
