"""Infers the structure of a network from messages that ran together."""
