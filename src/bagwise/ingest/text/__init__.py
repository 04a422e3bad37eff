"""Documents: decoding, passages, and features of passages."""
