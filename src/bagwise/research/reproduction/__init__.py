"""Reproduction of the paper: its three experiments, its claims, and the report of `bagwise reproduce`."""
