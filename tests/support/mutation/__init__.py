"""Mutants of source code: every place at which one of a set of rules applies, altered one at a time."""
