"""What a run records about the output of another program that it was made of (attribute `imported`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

MORE = "import the outputs of several runs of the program together"
"""What to do about too few repetitions."""


@dataclass(frozen=True)
class Imported:
    program: str
    """`osu_bw 7.4`"""
    files: tuple[str, ...]
    repetition: str
    """What one repetition is: `the mean of 10 exchanges of 4 messages`."""
    lacks: tuple[str, ...]
    """What a run of crosscut has and this one does not, and what was left out, a sentence each."""
    hosts_named: bool
    """False: the program does not name its hosts; the nodes' names are the ranks' roles."""


def imported(attributes: Mapping[str, object]) -> Imported | None:
    """Returns what the attributes say, as far as it is well-formed; None for a run that crosscut measured."""
    found = attributes.get("imported")
    if not isinstance(found, Mapping):
        return None
    files = (file.get("name") if isinstance(file, Mapping) else None for file in _list(found.get("files")))
    return Imported(
        program=_text(found.get("program")) or "another program",
        files=tuple(filter(None, map(_text, files))),
        repetition=_text(found.get("repetition")),
        lacks=tuple(filter(None, map(_text, _list(found.get("lacks"))))),
        hosts_named=found.get("hosts_named") is True,
    )


def _list(value: object) -> list[object]:
    return list(value) if isinstance(value, list | tuple) else []


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
