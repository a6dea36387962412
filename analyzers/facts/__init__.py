"""Facts: the few wide passes over a history that the checks share, and the tables that several facts are made of.

To add a fact, add a file with a function that is decorated with `fact`; `registry` finds it. Imports
`analyzers.history` and pyspark.
"""
