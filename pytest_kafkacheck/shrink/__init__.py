"""Shrinks an invalid run to the smallest experiment that shows its anomaly, with the search of `nemesis.shrink`.

May import `pytest_kafkacheck.experiment`, `nemesis` and verdicts of `analyzers`.
"""
