"""How faults change nodes: cuts, packet filters, queues, limits and process states, combined over all faults at work.

May import `nemesis.cluster`, and nothing else of `nemesis`.
"""
