"""Orders of a program's ranks that put those that talk much near each other, judged by replays."""
