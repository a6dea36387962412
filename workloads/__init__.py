"""What clients do to a cluster, and the history of it."""
