"""Which question is leased to whom: the published ranking, and the leases."""
