"""Text of others (names in runs, words of ranks) as a terminal may get it.

Escape sequences can set a window's title, overwrite lines, or type for the user; marks of direction can show
a name as another one. Whatever is printed passes here.
"""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Iterator
from typing import TextIO, cast

# Control characters but tab and line feed, the marks of direction (Unicode's UAX 9), and surrogates, by which
# Python keeps bytes that are no text, and which no stream takes.
_UNPRINTABLE = r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
_ANY = re.compile(_UNPRINTABLE)
_ANY_BUT_STYLES = re.compile(rf"(\x1b\[[0-9;]*m)|{_UNPRINTABLE}")


def printable(text: str) -> str:
    """`text` with `\\x1b` written out in place of ESC, and so on."""
    return _ANY.sub(_written_out, text)


def printable_but_styles(text: str) -> str:
    """As `printable`; sequences that choose colours and weights stay, which do nothing else."""
    return _ANY_BUT_STYLES.sub(lambda found: found[1] or _written_out(found), text)


def _written_out(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode("ascii")


class _Printable:
    """A stream for people, which gets printable text alone."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        return self.stream.write(printable(text))

    def __getattr__(self, name: str) -> object:
        return getattr(self.stream, name)


@contextlib.contextmanager
def printing() -> Iterator[None]:
    """While inside, what is printed is printable."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast(TextIO, _Printable(stream)) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def drawn_on(stream: TextIO) -> TextIO:
    """The stream itself, for who draws with sequences and looks after the text alone."""
    while isinstance(stream, _Printable):
        stream = stream.stream
    return stream
