"""Words and numbers in messages: near misses of a name, capitals, runs of numbers."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def hint(wrong: str, names: Iterable[str]) -> str:
    """Begins with a semicolon, to be put behind any message; empty where nothing is near."""
    near = difflib.get_close_matches(wrong, list(names), n=1)
    return f"; did you mean {near[0]}?" if near else ""


def capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def spans(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """The first and the last of each run of neighbours."""
    there = set(numbers)
    starts = sorted(number for number in there if number - 1 not in there)
    ends = sorted(number for number in there if number + 1 not in there)
    return list(zip(starts, ends, strict=True))
