"""Repeats papers' experiments (`experiments/*.toml`), and compares what was published with new results."""
