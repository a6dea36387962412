"""Probes: what is asked of the brokers during a run, one kind of observation in each module.

A probe is a module here that binds ``PROBE`` to a class like `workloads.probes.probe.Probe`; it is found by itself.
May import `workloads.clients`.
"""
