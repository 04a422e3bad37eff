"""For researchers: compared systems, experiments, the reproduction of the paper, benchmarks.

Nothing outside `bagwise.research` and its commands imports it.
"""
