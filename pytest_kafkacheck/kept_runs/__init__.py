"""Runs as they lie on disk: listing, finding, comparing and packing them.

Reads their JSON files and the small table of operations only, without Spark and Docker, so that commands answer at
once.
May import errors, and nothing else of the project.
"""
