"""What other programs measured, as runs: a reader for each program's output."""
