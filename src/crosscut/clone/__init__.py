"""Copies a file or a device to many nodes along a chain."""
