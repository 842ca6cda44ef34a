"""Tables and files as Arrow columns: read, described, encoded and written."""

__all__ = []
