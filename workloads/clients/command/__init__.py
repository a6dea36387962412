"""Clients in any language: one process for each client, which speaks JSON lines (docs/client_protocol.md).

`process` has the process and the rules of turns, `messages` the form of what is sent and answered. The others
implement `workloads.clients.protocol` with them. May import `workloads.clients`.
"""
