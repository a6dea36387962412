"""The faults: one file declares one fault and the functions that people call. `nemesis.registry` finds these files.

A file may import `nemesis.fault`, `nemesis.event`, `nemesis.steps` and `nemesis.effects`, but no other fault.
"""
