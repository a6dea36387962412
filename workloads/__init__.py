"""What clients do to a cluster, and the history that they write: one file per workload, and its parts in the folders.

May import client libraries and pyarrow, and none of our other packages.
"""
