"""What worker processes do: one function for each role, called with the `WorkerContext` of its process.

May import `workloads.clients`, `workloads.probes`, `workloads.history` and the recording; knows no workload.
"""
