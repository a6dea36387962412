"""Kafka clients: what workloads need of a library, requests to a single broker, and the outcome of sends.

May import client libraries but neither roles nor workers.
"""
