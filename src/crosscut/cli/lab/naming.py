"""The argument that names a lab, and the lab's record."""

from __future__ import annotations

import argparse
from typing import Any

from crosscut.lab import lifecycle, state


def add_lab(parser: argparse.ArgumentParser, otherwise: str = "", **more: Any) -> None:
    """Adds the argument LAB. `otherwise` is more help text, for a LAB that may be omitted."""
    parser.add_argument(
        "lab", metavar="LAB", help=f"Name of the lab, or the network it was built from.{otherwise}", **more
    )


def found(text: str) -> state.Record:
    """Returns the record of the named lab; raises UsageError if there is no such lab."""
    return state.read(lifecycle.name_of(text) or text)
