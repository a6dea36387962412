"""Worker processes: the pool that starts and stops them, and the program that each of them runs.

May import `workloads.roles` and `workloads.clients`; knows no workload.
"""
