"""Definitions of the anomalies in plain Python, with which the checks have to agree.

Each file with `ORACLES` (anomaly to a function that counts it) and `RANDOM` (a strategy for histories) is used by
tests/spark/test_oracles.py.
"""
