"""Pictures: decoding, and features of regions."""
