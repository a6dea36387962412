"""Where experiments get their cluster from: one strategy in each file, and the pool that holds the open cluster.

May import `pytest_kafkacheck.cluster` and `pytest_kafkacheck.setup`; knows nothing of running or judging experiments.
"""
