"""The history on disk: written while clients run, compacted for the analysis."""
