"""The formats, and which of them a file has."""

from __future__ import annotations

from collections.abc import Mapping

from crosscut.imports import hp2p, iperf3, mpigraph, netpipe, osu, perftest, sockperf
from crosscut.imports.measured import Format
from crosscut.imports.output import OutputFile

# One line a format, in the order of the help.
_ALL = (
    osu.FORMAT,
    mpigraph.FORMAT,
    hp2p.FORMAT,
    iperf3.FORMAT,
    netpipe.FORMAT,
    sockperf.FORMAT,
    perftest.FORMAT,
)
FORMATS: Mapping[str, Format] = {one.name: one for one in _ALL}


def guessed(output: OutputFile) -> Format:
    """Returns the only format that a file can have. Raises UsageError that lists the candidates."""
    found = [one for one in _ALL if one.recognises(output)]
    if len(found) == 1:
        return found[0]
    what = "may be in several formats" if found else "has no format that crosscut knows"
    names = "; ".join(f"{one.name}: {one.what}" for one in found or _ALL)
    raise output.fault(f"its content {what}; give --format ({names})")
