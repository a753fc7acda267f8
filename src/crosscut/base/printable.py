"""Makes untrusted text (names in runs, output of ranks) safe to print on a terminal.

Escape sequences can set a window's title, overwrite lines or type on the user's behalf; bidirectional
controls can make one name look like another. All output passes through here.
"""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Iterator
from typing import TextIO, cast

# Control characters except tab and line feed, bidirectional controls (Unicode UAX 9), and surrogates: Python
# uses these for bytes that are not text, and no stream accepts them.
_UNPRINTABLE = r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
_ANY = re.compile(_UNPRINTABLE)
_ANY_BUT_STYLES = re.compile(rf"(\x1b\[[0-9;]*m)|{_UNPRINTABLE}")


def printable(text: str) -> str:
    """Returns `text` with unprintable characters escaped: `\\x1b` in place of ESC."""
    return _ANY.sub(_written_out, text)


def printable_but_styles(text: str) -> str:
    """Like `printable`, but keeps the sequences that only set colours and weights."""
    return _ANY_BUT_STYLES.sub(lambda found: found[1] or _written_out(found), text)


def _written_out(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode("ascii")


class _Printable:
    """A text stream that receives only printable text."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        return self.stream.write(printable(text))

    def __getattr__(self, name: str) -> object:
        return getattr(self.stream, name)


@contextlib.contextmanager
def printing() -> Iterator[None]:
    """Escapes unprintable characters in everything printed inside the context."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast(TextIO, _Printable(stream)) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def drawn_on(stream: TextIO) -> TextIO:
    """Returns the underlying stream, for callers that print sequences and clean the text themselves."""
    while isinstance(stream, _Printable):
        stream = stream.stream
    return stream
