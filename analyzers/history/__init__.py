"""Loading and validating histories: from run directories, here or remote, to Spark DataFrames.

May import `analyzers.spark` and the schema and layout in workloads.history; nothing else of analyzers.
"""
