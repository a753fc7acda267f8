"""Helpers for the wording of messages: similar names, capitals, runs of numbers."""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Iterable
from pathlib import Path

_MOST_BESIDE = 1000  # names that a hint compares
_ALIKE = 0.65  # share of the letters of two names that a hint requires to match

# The space between a number and its unit, beside a sign between two numbers, or in `p < 1 %`.
_BESIDE_NUMBER = re.compile(
    r"(?<=[0-9]) (?=(?:%|[kKMGT]i?B|B|[kMGT]?bit|[nµm]?s|min|h)(?![A-Za-z]))"
    r"|(?<=[0-9%]) (?=[/–±])|(?<=[/–±]) (?=[0-9])|(?<=\bp) (?=[<=] )|(?<=\bp [<=]) (?=[0-9])"
)


def tied(words: str, space: str = "\u00a0") -> str:
    """Puts `space`, where no line may break, beside numbers.

    A line may break between a dash and a no-break space (UAX #14, LB12a), so a word joiner separates them.
    """
    return _BESIDE_NUMBER.sub(space, words).replace("–\u00a0", "–\u2060\u00a0")


def hint(wrong: str, names: Iterable[str]) -> str:
    """Returns a hint to append to a message, with its semicolon; empty if no name is similar."""
    near = difflib.get_close_matches(wrong, list(names), n=1, cutoff=_ALIKE)
    return f"; did you mean {near[0]}?" if near else ""


def missing(path: Path, what: str = "file") -> str:
    """Says that no file, or `what`, has this path, with a hint if another name beside it is similar."""
    try:
        there = sorted(itertools.islice(path.absolute().parent.iterdir(), _MOST_BESIDE))
    except OSError:
        there = []
    beside = [one.name for one in there]
    begin_so = [one for one in there if one.name.startswith(f"{path.name}.")]
    if whole := [one.name for one in begin_so if one.is_dir() == (what == "directory")]:
        return f"there is no such {what}; did you mean {min(whole, key=len)}?"
    # A suffix that most files share would make them all similar.
    stems = {Path(name).stem: name for name in beside if Path(name).suffix == path.suffix}
    if near := difflib.get_close_matches(path.stem, stems, n=1, cutoff=_ALIKE):
        return f"there is no such {what}; did you mean {stems[near[0]]}?"
    return f"there is no such {what}{hint(path.name, beside) if not path.suffix else ''}"


def capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def sentence(words: str) -> str:
    """Returns the words as a sentence. A name, such as n0012 or crosscut, keeps its case."""
    first = words.split(maxsplit=1)[0] if words.strip() else ""
    return (capital(words) if first.rstrip(",").isalpha() and first != "crosscut" else words) + (
        "" if words.endswith(".") else "."
    )


def spans(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Returns the first and last number of each run of consecutive numbers."""
    there = set(numbers)
    starts = sorted(number for number in there if number - 1 not in there)
    ends = sorted(number for number in there if number + 1 not in there)
    return list(zip(starts, ends, strict=True))


def as_typed(path: Path) -> str:
    """The path as typed from the current directory."""
    try:
        return str(path.absolute().relative_to(Path.cwd()))
    except ValueError:
        return str(path)
