"""Kafka clients as the workloads see them."""
