"""Figures and verdicts in words, which every form of report shares."""
