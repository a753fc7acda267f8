"""Files that appear whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path


def write(path: Path, content: bytes) -> None:
    """Replaces what is there. OSError: then it stays as it was."""
    unfinished = path.with_name(f".{path.name}.{os.urandom(4).hex()}.unfinished")
    try:
        with unfinished.open("xb") as file:  # never through somebody's link
            file.write(content)
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
