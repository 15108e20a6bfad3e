"""The embedded store: one directory with a DuckDB file, the truth, and index arrays derived from it."""
