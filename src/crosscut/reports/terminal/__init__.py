"""Reports on a terminal: a file for each."""
