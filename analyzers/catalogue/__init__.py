"""What a check declares, and the registry of all checks and anomalies.

Imports only the standard library and `analyzers.discovery`: verdicts are read where Spark is not installed.
"""
