"""Benchmarks of crosscut: `make bench`, or one alone, as in `python -m benchmarks.peers`.

docs/reference/benchmarks.md explains what each shows and how it measures.
"""
