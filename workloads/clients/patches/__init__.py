"""Changes to kafka-python's own classes, made in the process that calls `install`. May import `workloads.clients`."""
