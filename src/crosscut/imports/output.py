"""The text of one file that another program wrote, and errors that name its lines."""

from __future__ import annotations

import hashlib
import math
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from crosscut.base import bounded_file
from crosscut.base.errors import UsageError

MOST_BYTES = 128 << 20
# No measurement takes longer, and a run holds no longer times (run/checksums.py).
_LONGEST_SECONDS = 1e9
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?")
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_QUOTED = 40


@dataclass(frozen=True)
class OutputFile:
    path: Path
    text: str
    size_bytes: int
    sha256: str

    @cached_property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    @property
    def ended(self) -> bool:
        """True if the last line is whole."""
        return self.text.endswith("\n")

    def fault(self, what: str, line: int | None = None) -> UsageError:
        """Returns the error for something wrong at a line, counted from 0; None: in the whole file."""
        return UsageError(f"{self.path}{'' if line is None else f', line {line + 1}'}: {what}")

    def number(self, word: str, what: str, line: int) -> float:
        """Returns a number that must be positive and finite. Raises UsageError."""
        value = float(word) if _NUMBER.fullmatch(word) else math.nan
        if not math.isfinite(value):
            raise self.fault(f"{what} is {quoted(word)}, which is no number", line)
        if value <= 0:
            raise self.fault(f"{what} is {word}; it must be more than 0", line)
        return value

    def whole(self, word: str, what: str, line: int, most: int = 1 << 62) -> int:
        """Returns a whole number from 0 to `most`. Raises UsageError."""
        if not (word.isascii() and word.isdigit() and len(word) < 20 and int(word) <= most):
            raise self.fault(f"{what} is {quoted(word)}, not a whole number from 0 to {most:,}", line)
        return int(word)

    def seconds(self, value: float, line: int) -> float:
        """Returns a time if a run can hold it. Raises UsageError."""
        if not 0 < value <= _LONGEST_SECONDS:
            raise self.fault(f"a time of {value:g} s is impossible", line)
        return value


def quoted(word: str, most: int = _QUOTED) -> str:
    return repr(word if len(word) <= most else word[:most] + "…")


def read(path: Path) -> OutputFile:
    """Reads a file. Raises UsageError if it cannot be read, is too long, empty or not text."""
    content = bounded_file.read(path, MOST_BYTES, "the output of a benchmark")
    if not content.strip():
        raise UsageError(f"{path}: it is empty")
    if (at := content.find(b"\0")) >= 0:
        raise UsageError(f"{path}: it is not text (byte {at} is 0)")
    text = content.decode("utf-8-sig", "replace").replace("\r\n", "\n")
    return OutputFile(path, _COLOURS.sub("", text), len(content), hashlib.sha256(content).hexdigest())


def decimals(word: str) -> int:
    return len(word.partition(".")[2])
