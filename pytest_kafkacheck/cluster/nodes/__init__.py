"""What clusters share whatever runs their nodes: the cluster itself, its agents, its health, the start of a node.

An engine runs the nodes: `cluster.docker`, or `cluster.processes`. It implements the protocols of `node`, and nothing
in here knows it. May import `cluster.kafka`, `cluster.spec` and `nemesis`.
"""
