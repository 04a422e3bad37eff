"""Where the instances of a project are stored: one file, or partitions."""
