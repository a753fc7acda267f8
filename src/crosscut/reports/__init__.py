"""Reports for people and programs, with one module per form of output."""
