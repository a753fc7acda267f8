"""The pictures of the page: a file for each."""
