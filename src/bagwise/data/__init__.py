"""Bags, labels and metrics: input is validated once, when these are made, and trusted afterwards."""
