"""On several machines at once, with Ray (`pip install 'bagwise[cluster]'`)."""
