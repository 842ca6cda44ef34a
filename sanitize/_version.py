"""Version of the package, stated here only."""

__version__ = "0.1.0"
