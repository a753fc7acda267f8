"""Faults planted in a lab: their catalogue, planting and lifting, and the processes that some need."""
