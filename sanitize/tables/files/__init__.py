"""Files of tables: how they are opened, described, read and written."""
