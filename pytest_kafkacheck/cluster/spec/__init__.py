"""What a cluster is made of and the configuration files that follow from it: values without input or output.

May import `workloads.clients` and nothing else of the project but errors.
"""
