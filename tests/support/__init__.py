"""What several test packages use: example files, restricted processes, database servers, clusters, scoring backends."""
