"""Histories as JSON lines: written by any program, imported into the tables of a history, and exported from them."""
