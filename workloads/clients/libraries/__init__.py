"""The client libraries, one module each, found by its name. They may import `workloads.clients`."""
