"""`python -m bagwise`."""

from bagwise.cli import main

main()
