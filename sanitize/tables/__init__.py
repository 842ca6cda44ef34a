"""Tables and files as Arrow columns: reading, description, encoding and writing."""

__all__ = []
