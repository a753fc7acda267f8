"""Compares runs with each other, and with what was promised."""
