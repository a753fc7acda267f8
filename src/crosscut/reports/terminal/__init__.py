"""Terminal reports, one module each."""
