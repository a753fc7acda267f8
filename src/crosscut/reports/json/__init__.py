"""Reports as JSON, one module each."""
