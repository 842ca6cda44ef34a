"""Command ``sanitize``, which parses its arguments and makes one call of the library per command.

Exit codes: 0 done; 1 check failed (a release over the budget or useless, which was not written; or a file that was
refuted or not verified); 2 usage or policy error; 3 input unreadable or unfit; 4 output exists or cannot be written;
5 internal error; 130 interrupted.
"""

from sanitize.cli._program import main

__all__ = ["main"]
