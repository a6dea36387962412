"""Random histories, drawn with hypothesis."""
