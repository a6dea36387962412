"""Reads the configuration of a running cluster, by requests that change nothing.

What a user may not read becomes a `Problem`, and a setting with all values that it may have.
"""
