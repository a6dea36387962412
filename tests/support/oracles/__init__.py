"""The anomalies spelled out in plain Python, to compare the checks with."""
