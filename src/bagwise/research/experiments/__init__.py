"""Experiments: a specification gives tidy rows, rows give curves and tables."""
