"""Experiments whose runs on real clusters are kept in tests/data/runs, and how to record them again.

``python -m tests.support.recordings NAME...`` from the root of the project; see tests/data/runs/README.md.
"""
