"""Drawing characters: blocks and lines if the terminal supports them, otherwise ASCII."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TextIO


@dataclass(frozen=True)
class Glyphs:
    eighths: str  # cells filled from below, from empty to full
    bar: str  # cells filled from the left, from empty to full
    shade: str
    vertical: str
    tick: str
    corner: str
    horizontal: str
    density: str  # from none to many
    arrow: str
    dash: str
    warning: str

    def plain(self, text: str) -> str:
        """Returns `text` in characters that this set allows."""
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
    {
        "µ": "u", "α": "alpha", "β": "beta", "–": "-", "−": "-", "·": "-", "×": "x", "→": "->", "↔": "<->",
        "…": "..", "±": "+/-", "≤": "<=",
    }
)  # fmt: skip


def glyphs_for(stream: TextIO) -> Glyphs:
    """Returns ASCII if CROSSCUT_ASCII is set or the stream's encoding lacks block characters."""
    if os.environ.get("CROSSCUT_ASCII"):
        return ASCII
    try:
        (UNICODE.eighths + UNICODE.arrow).encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return UNICODE
