"""The active search: what to measure next, until limits and faults are known. README.md shows its stages."""
