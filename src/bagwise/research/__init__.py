"""For researchers: compared systems, experiments, the reproduction of the paper, benchmarks."""
