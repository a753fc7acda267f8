"""Compares runs with each other, and with promises."""
