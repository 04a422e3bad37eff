"""Pictures: decoding, features of regions."""
