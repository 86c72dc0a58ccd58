"""One module for each command of `tabnas`."""
