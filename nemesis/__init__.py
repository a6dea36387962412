"""Faults, their targets, and schedules of them. Knows a cluster only through the protocols in `nemesis.cluster`.

May import the standard library, and no other package of the project.
"""
