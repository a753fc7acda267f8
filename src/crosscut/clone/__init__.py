"""Copying a file or a device to many nodes down a chain."""
