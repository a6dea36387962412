"""Explainers: one file holds the causes of one mechanism, with how they are established and what to change."""
