"""Shared by commands: options, argument parsing, starting programs."""
