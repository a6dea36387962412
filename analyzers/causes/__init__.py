"""Why a run's findings came about: derived from elections, ISR changes, cuts of logs, faults and settings.

Pure Python over few values that Spark has collected. May import the verdict's values and the history.
"""
