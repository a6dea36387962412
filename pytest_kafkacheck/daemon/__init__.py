"""A process in the background that keeps Spark warm between commands of one user, see docs/spark.md.

`client` hands a command over to it, `server` is the process. Both find each other by `address`.
"""
