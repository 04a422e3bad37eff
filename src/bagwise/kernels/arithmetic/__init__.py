"""Compiled arithmetic with the same bits on every processor: sums, products, elementary functions, threads."""
