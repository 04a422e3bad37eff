"""Experiments: a specification is run to tidy rows on disk; rows give curves, statistics and tables."""
