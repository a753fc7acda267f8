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
    names = [one.name for one in found or _ALL]
    if found:
        raise output.fault(f"its content fits several formats; give --format {' or '.join(names)}")
    raise output.fault(
        f"not the output of a program that crosscut reads ({', '.join(names)}); crosscut import --help says "
        "which files these are"
    )
