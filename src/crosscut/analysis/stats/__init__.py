"""Statistics: intervals, tests, permutations."""
