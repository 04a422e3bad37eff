"""Bags, labels and metrics: input is validated here, once, and trusted behind."""
