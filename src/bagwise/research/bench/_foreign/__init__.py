"""Programs that run in an environment of their own, beside other libraries: they know nothing of Bagwise."""
