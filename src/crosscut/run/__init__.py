"""A run on disk: its format, opening, checking, repairing, its tables."""
