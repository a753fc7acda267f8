"""Judges how far a lab can be trusted during a measurement."""
