"""Faults, their targets, and when they strike."""
