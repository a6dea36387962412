"""The history on disk: schema, segments written while clients run, and their compaction into Parquet.

Imports nothing else of the project; analyzers and pytest_kafkacheck read histories through it.
"""
