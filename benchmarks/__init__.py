"""How fast, how frugal and how large: `make bench`, or `python -m benchmarks.peers`, `.memory`, `.scale`.

docs/reference/benchmarks.md says what each shows and how it is measured.
"""
