"""Judges how far a lab can be trusted while it is measured."""
