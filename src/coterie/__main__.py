"""`python -m coterie`."""

from coterie.cli.app import main

main()
