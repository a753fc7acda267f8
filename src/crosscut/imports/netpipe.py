"""NetPIPE 3: the file that NPtcp and NPmpi write (`-o`, np.out by default).

Units, from netpipe.c of 3.7: a line is `bytes, Mbps, seconds` (printed as `%8d %lf %12.8lf`). Mbps are 2^20
bits per second (`bps = bits / (t * 1024 * 1024)`), and seconds are those of a message one way. Both are those
of the fastest of 3 trials (`TRIALS`, `MIN(bwdata[n].t, t)`). Time is calculated from the rate, which has more
digits. The file names neither program, nor hosts, nor options.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from crosscut.imports import sweep, tables
from crosscut.imports.measured import Format, Measured, Method
from crosscut.imports.output import OutputFile
from crosscut.run.shape import Shape

_MEGABIT = 1 << 20
_DECIMALS = 8
_TIME_STEP = 1e-8
_LINE = re.compile(r"\s*\d+\s+\d+\.\d{6}\s+\d+\.\d{8}\s*")
_SCREEN = re.compile(r"\s*\d+:\s+\d+ bytes\s+\d+ times")


def _recognises(output: OutputFile) -> bool:
    return bool(_LINE.fullmatch(output.lines[0])) or any(map(_SCREEN.match, output.lines[:20]))


def _parse(output: OutputFile) -> Measured:
    for line, text in enumerate(output.lines[:20]):
        if _SCREEN.match(text):
            raise output.fault("this is what NetPIPE shows: import the file it writes (-o, np.out)", line)
    lines = [line for line, text in enumerate(output.lines) if text.strip() or (text and not output.ended)]
    rows, left_out = tables.rows(output, lines, 2, _DECIMALS)
    times = {row.size_bytes: np.array([_seconds(output, row)]) for row in rows}
    if not times:
        raise output.fault("no complete line of bytes, Mbps and seconds")
    members: dict[str, Any] = sweep.arrays(times, "pingpong")
    return Measured(
        program="NetPIPE 3",
        method=Method(
            "netpipe", "One pair: ping-pong, half of a round trip, over growing sizes",
            sweep.FORMULAS["pingpong"], "NetPIPE: Snell, Mikler, Gustafson 1996", Shape.SWEEP, latency=True,
            parameters={"mode": "pingpong"},
        ),
        carrier="", hosts=("transmitter", "receiver"), hosts_named=False,
        repetition="the fastest of 3 trials; the file does not say over how many round trips",
        lacks=(
            "the file does not say NetPIPE's mode: read as ping-pong, which is wrong if it ran with -s (one "
            "way) or -2 (both ways)",
        ),
        left_out=tuple(left_out), **members,
    )  # fmt: skip


def _seconds(output: OutputFile, row: tables.Row) -> float:
    """Returns the time of a message one way, if rate and time agree."""
    if row.size_bytes == 0:
        raise output.fault("a rate of messages of 0 bytes", row.line)
    rate = output.number(row.words[0], "the rate", row.line)
    printed = output.number(row.words[1], "the time", row.line)
    seconds = output.seconds(8 * row.size_bytes / (rate * _MEGABIT), row.line)
    if abs(seconds - printed) > _TIME_STEP + 1e-4 * printed:
        raise output.fault(
            f"{row.size_bytes} bytes at {rate:g} Mbit/s (of 2^20 bits) take {seconds:.8f} s, but the "
            f"line says {printed:.8f}; this is no file of NetPIPE 3",
            row.line,
        )
    return seconds


FORMAT = Format("netpipe", "the file that NetPIPE 3 writes (np.out)", _recognises, _parse)
