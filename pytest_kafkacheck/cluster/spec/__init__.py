"""What a cluster is made of and the configuration files that follow from it: values without I/O.

May import `workloads.clients` and nothing else of the project but errors.
"""
