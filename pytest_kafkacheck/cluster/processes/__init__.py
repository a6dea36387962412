"""Clusters without an engine: nodes are processes of this machine, in namespaces that end with their session.

May import `cluster.nodes`, `cluster.kafka`, `cluster.spec` and the protocols of `nemesis`.
"""
