"""The search for a smaller schedule that still shows an anomaly.

May import the rest of `nemesis`, which does not import it.
"""
