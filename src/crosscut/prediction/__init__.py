"""Predicts a traced program's time on other networks: replays its trace, and breaks the time down."""
