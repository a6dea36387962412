"""What holds the processes of a user's application: control groups, and the packet gate in front of them. Linux only.

May import the standard library and `workloads.clients.connection`.
"""
