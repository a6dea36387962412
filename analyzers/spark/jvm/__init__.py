"""The driver's JVM: launching it, and its life through PySpark's private attributes. Only analyzers/spark imports
it."""
