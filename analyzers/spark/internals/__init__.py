"""The private parts of PySpark, Py4J and Spark: nothing outside this folder uses any (tests/architecture).

Each shortcut that needs them has the plain way beside it, see `shortcut`. docs/spark.md lists them.
"""
