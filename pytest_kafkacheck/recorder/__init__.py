"""Records what a test's own clients do, so that it is judged as a workload is."""
