"""Bags, labels and metrics. Input is validated once, in this package, and trusted by all others."""
