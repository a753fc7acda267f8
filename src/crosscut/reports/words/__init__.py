"""Figures and verdicts in words, shared by all forms of report."""
