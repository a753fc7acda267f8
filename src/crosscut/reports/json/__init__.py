"""Reports as JSON: a file for each."""
