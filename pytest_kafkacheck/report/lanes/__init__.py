"""The lanes of the report's time line. Each file has one function from a run to lanes."""
