"""Application benchmarks: running, timing and verifying them on a place."""
