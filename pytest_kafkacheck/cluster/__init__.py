"""Real Kafka clusters: `spec` describes one, `kafka` talks to one, `docker` runs one.

Each may import those named before it, and no other package of the plugin but errors.
"""
