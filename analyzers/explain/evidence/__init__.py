"""Queries for the rows around a finding. They return rows; the folder above turns these into text.

May import the history and the facts.
"""
