"""Rounds of experiments that are drawn from a seed, for hours: each is judged, and what is interesting is kept.

`plan.Soak` says what may be drawn, `draw` makes the experiment of a round, `soak.soak` runs rounds one after another,
and `summary` says what they showed. `state` is the file from which a soak goes on after it was killed.

May import `pytest_kafkacheck.experiment`, `pytest_kafkacheck.shrink`, `nemesis` and verdicts of `analyzers`.
"""
