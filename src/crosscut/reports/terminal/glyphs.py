"""Characters to draw with: blocks and lines where the terminal has them, ASCII elsewhere."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TextIO


@dataclass(frozen=True)
class Glyphs:
    eighths: str  # partly filled cells, from below, empty first, full last
    bar: str  # partly filled cells, from the left
    shade: str
    vertical: str
    tick: str
    corner: str
    horizontal: str
    density: str  # none, few … many
    arrow: str
    dash: str
    warning: str

    def plain(self, text: str) -> str:
        """`text` in characters that this set may use."""
        if self is UNICODE:
            return text
        return text.translate(_REPLACED).encode("ascii", "replace").decode("ascii")


UNICODE = Glyphs(
    eighths=" ▁▂▃▄▅▆▇█",
    bar=" ▏▎▍▌▋▊▉█",
    shade="░",
    vertical="│",
    tick="┤",
    corner="└",
    horizontal="─",
    density=" ·∘○●",
    arrow="→",
    dash="–",
    warning="⚠",
)

ASCII = Glyphs(
    eighths="    #####",
    bar="    #####",
    shade=":",
    vertical="|",
    tick="+",
    corner="+",
    horizontal="-",
    density=" .oO@",
    arrow="->",
    dash="-",
    warning="!",
)

_REPLACED = str.maketrans(
    {"µ": "u", "–": "-", "·": "-", "×": "x", "→": "->", "↔": "<->", "…": "..", "±": "+/-", "≤": "<="}
)


def glyphs_for(stream: TextIO) -> Glyphs:
    """ASCII where the stream's encoding cannot carry block characters, or CROSSCUT_ASCII is set."""
    if os.environ.get("CROSSCUT_ASCII"):
        return ASCII
    try:
        (UNICODE.eighths + UNICODE.arrow).encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return UNICODE
