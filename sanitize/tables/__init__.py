"""Tables and files as columns of Arrow: read, described, encoded and written."""

__all__ = []
