"""Small histories written by hand, each with the anomalies that the checks must find in it."""
