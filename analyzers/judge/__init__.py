"""Judges histories with Spark: runs the checks, measures what was exercised, and makes the verdicts.

May import every other folder of analyzers except explain and jepsen.
"""
