"""Recordings: reading, spectrograms, segmentation, features of regions."""
