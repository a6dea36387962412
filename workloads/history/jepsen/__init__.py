"""Jepsen's histories: reading EDN and JSON files, and writing our own histories as EDN. Imports only
workloads.history."""
