"""The verdict on a run: frozen values, their JSON and their text.

May import the catalogue of anomalies and the fault events of a history. No Spark: a stored verdict is read without
it."""
