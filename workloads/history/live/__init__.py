"""A history that is still being written, in windows: each has the rows of new segments, and those of earlier windows
that may break a promise together with them."""
