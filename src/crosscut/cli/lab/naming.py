"""The lab that a command is about: its argument, and its record."""

from __future__ import annotations

import argparse
from typing import Any

from crosscut.lab import lifecycle, state


def add_lab(parser: argparse.ArgumentParser, otherwise: str = "", **more: Any) -> None:
    """The argument LAB. `otherwise`: what its absence means, where it may be absent."""
    parser.add_argument(
        "lab", metavar="LAB", help=f"its name, or the network it was built from{otherwise}", **more
    )


def found(text: str) -> state.Record:
    """The lab that was named; UsageError where there is none."""
    return state.read(lifecycle.name_of(text) or text)
