"""Runs held against each other, and against what was promised."""
