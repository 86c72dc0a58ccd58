"""`python -m tabnas` is `tabnas`."""

from tabnas.cli import main

main()
