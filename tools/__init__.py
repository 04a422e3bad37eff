"""Programs that `make` runs, and hooks of the documentation site."""
