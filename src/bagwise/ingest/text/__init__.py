"""Documents: decoding, passages, features of passages."""
