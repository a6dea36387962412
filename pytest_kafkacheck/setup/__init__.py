"""Checks and installs what kafkacheck needs of a machine: Java, a Docker engine, images.

May import everything below it (`pytest_kafkacheck.cluster`, `nemesis`, `analyzers`); only commands and experiments
import it.
"""
