"""The paper's three experiments: what is run, its claims, and the report."""
