"""Explains a finding: what the history holds around it, as a timeline and tables of text.

May import the judge, the history and the catalogue. Nothing imports it but the explain command.
"""
