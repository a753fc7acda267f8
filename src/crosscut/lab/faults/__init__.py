"""Faults planted in a lab: the catalogue, planting and lifting, the processes behind some of them."""
