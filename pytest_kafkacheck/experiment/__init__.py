"""An experiment and its way through a run: checked, executed on a cluster, judged, stored and replayed.

May import `pytest_kafkacheck.cluster`, `setup`, and all our other packages, but neither commands nor the plugin.
"""
