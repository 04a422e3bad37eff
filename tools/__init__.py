"""What `make` calls, and what is run by hand or by night."""
