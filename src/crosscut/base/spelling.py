"""What was probably meant by a name that there is not."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def hint(wrong: str, names: Iterable[str]) -> str:
    """Begins with a semicolon, to be put behind any message; empty where nothing is near."""
    near = difflib.get_close_matches(wrong, list(names), n=1)
    return f"; did you mean {near[0]}?" if near else ""
