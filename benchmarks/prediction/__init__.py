"""Prediction against truth: programs traced in one emulated cluster, predicted for others, measured there."""
