"""The active search: what to measure next."""
