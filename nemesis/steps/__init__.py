"""Steps that several faults share: ending a process, filtering or shaping packets, waiting until a broker serves.

May import `nemesis.fault` and `nemesis.effects`; only `nemesis.faults` may import it.
"""
