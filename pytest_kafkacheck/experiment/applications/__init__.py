"""Applications of users that run in containers: made before the load, and removed at the end."""
