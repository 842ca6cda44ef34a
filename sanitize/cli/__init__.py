"""Command ``sanitize``: argparse, then one call of the library per command.

Exit codes: 0 done; 1 the gate failed (over the budget, or of no use): nothing was written, or a release was not
verified, or refuted; 2 usage or policy error; 3 input unreadable or unfit; 4 output exists or cannot be written; 5
internal error; 130 interrupted.
"""

from sanitize.cli._program import main

__all__ = ["main"]
