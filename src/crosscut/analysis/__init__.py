"""Analysis: pure functions from measured arrays to figures."""
