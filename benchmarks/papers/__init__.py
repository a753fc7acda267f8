"""Repeats the papers' experiments and writes docs/reference/papers.md."""
