"""What every package uses: errors, plug-in discovery, optional dependencies, checksums."""
