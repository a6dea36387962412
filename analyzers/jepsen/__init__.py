"""Histories of Jepsen's Kafka workload, judged by the rules of its checker.

Rules and names are those of ``jepsen.tests.kafka``; docs/jepsen.md says where they are not.
"""
