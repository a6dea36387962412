"""A cluster in miniature that keeps every promise; each promise can be broken on purpose."""
