"""Active search: decides what to measure until limits and faults are known. README.md shows its stages."""
