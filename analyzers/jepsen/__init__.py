"""Judges histories of Jepsen's Kafka workload by the rules of its checker.

Rules and names are those of ``jepsen.tests.kafka``; docs/json_lines.md lists the differences. May import
`analyzers.graph`, `analyzers.history` and workloads.history.jepsen.
"""
