"""ONE FILE = ONE SUITE of `bagwise bench`, found by its name.

A suite defines `DESCRIPTION`, two sizes `FULL` and `QUICK`, and `measure(size, log) -> Report`. Suites of other
packages are found through the entry-point group `bagwise.bench_suites`.
"""
