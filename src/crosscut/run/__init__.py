"""A run on disk: its format, opening it, checking and repairing it, its tables."""
