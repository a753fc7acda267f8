"""The structure of a network, inferred from messages that ran together."""
