"""Spark: starting it quickly, fitting its settings to a history, and ending it with the process.

Others import `session`, `settings`, `error_summary` and, to prepare the class archive, `quick_start`. Only this
package imports `jvm`, where the private parts of PySpark are used. Imports no other package of the project;
docs/spark_start.md has the design.
"""
