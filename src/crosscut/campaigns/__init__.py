"""Clients of a session that measure more than once: evaluate, check, locate, quick checks, the demo."""
