"""Clusters in Docker: nodes, agents, disks and clocks; start, change, reattach and removal.

May import `cluster.kafka`, `cluster.spec` and the protocols of `nemesis`.
"""
