"""Compaction: from the segments of a run to sorted Parquet tables. Imports only the modules beside it in history."""
