"""Scenarios: what people are taught about Kafka, one claim in each file of `claims`, shown on a real cluster.

They are not the scenarios of the matrix (`pytest_kafkacheck.matrix`), which are faults that a configuration meets.
``kafkacheck scenarios`` runs them, and so does ``pytest --pyargs pytest_kafkacheck.claims``.
"""
