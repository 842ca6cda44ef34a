"""Opening, description, reading and writing of tables in files."""
