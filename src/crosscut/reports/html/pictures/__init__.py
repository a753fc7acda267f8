"""Pictures of the page, one module each."""
