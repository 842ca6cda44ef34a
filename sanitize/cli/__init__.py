"""The ``sanitize`` command: argparse to one call each.

Exit codes: 0 done; 1 the gate failed: nothing was written, or a release was not verified, or refuted; 2 usage or policy
error; 3 input unreadable or unfit; 4 output exists or cannot be written; 5 internal error; 130 interrupted.
"""

from sanitize.cli._program import main

__all__ = ["main"]
