"""Findings: what a run shows to be slow, lossy, unsteady or shared."""
