"""Runs and findings of months in one SQLite file: adding, trends, change points, a page, metrics."""
