"""Roles with a defect, and workloads that have them beside sound ones. Each defect is one that a client, a library,
an application or another program can have: what they do to real brokers has to be found."""
