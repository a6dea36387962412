"""Spark: starting it quickly, fitting its settings to a history, and ending it with the process.

`internals` holds what uses private parts of Spark, with the plain way beside it. Imports no other package of ours;
docs/spark.md says how to do without.
"""
