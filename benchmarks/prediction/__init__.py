"""Prediction against truth: programs traced in one emulated cluster, predicted for and measured in others."""
