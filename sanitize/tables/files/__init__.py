"""Files of tables: opening, describing, reading and writing."""
