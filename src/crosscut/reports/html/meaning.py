"""What a mark on the page means. Each meaning has one colour, sign and kind of line, on every page."""

from __future__ import annotations

from enum import Enum

from crosscut.analysis.findings.kinds import FindingKind, Sort
from crosscut.analysis.findings.model import Finding
from crosscut.analysis.findings.of_run import NOTHING_STANDS_OUT


class Meaning(Enum):
    """A line contains the class and colour in page.css, the words of legends, and the dashes of lines."""

    SOUND = "sound", "sound", None
    LIMIT = "limit", "shared limit", None
    FAULT = "fault", "⚠ fault", "7 4"
    UNKNOWN = "unknown", "unknown", "2 3"

    words: str
    dashes: str | None

    def __new__(cls, name: str, words: str, dashes: str | None) -> Meaning:
        meaning = object.__new__(cls)
        meaning._value_ = name
        meaning.words, meaning.dashes = words, dashes
        return meaning

    @property
    def colour(self) -> str:
        return f"var(--{self.value})"


def of_finding(finding: Finding) -> Meaning:
    if finding.kind.warns:
        return Meaning.FAULT
    if finding.kind.sort is Sort.DESIGN:
        return Meaning.LIMIT
    sound = finding.kind is FindingKind.NOTHING and finding.what.startswith(NOTHING_STANDS_OUT)
    return Meaning.SOUND if sound else Meaning.UNKNOWN
