"""Requests to the brokers and ZooKeeper servers of a running cluster, wherever it runs.

May import `cluster.spec` and `workloads.clients`.
"""
