"""OSU micro-benchmarks: osu_latency, osu_bw and osu_bibw.

Units, from OMB 7.4 (c/mpi/pt2pt/standard): a latency is half of the mean round trip in microseconds
(osu_latency.c:278, `(t_total * 1e6) / (2.0 * options.iterations)`). A bandwidth is in 10^6 bytes per second
(osu_bw.c:368, `size / 1e6 * options.iterations * window_size`, over t_total), and that of osu_bibw counts
both directions (osu_bibw.c:414, `* 2`). Version 5.3 has the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from crosscut.imports import sweep, tables
from crosscut.imports.measured import Format, Measured, Method
from crosscut.imports.output import OutputFile, quoted
from crosscut.run.shape import Shape

_DECIMALS = 2  # FLOAT_PRECISION
_TITLE = re.compile(r"# (OSU .+? Test)(?: v(\S+))?")


@dataclass(frozen=True)
class _Test:
    program: str
    summary: str
    unit: str
    mode: sweep.Mode
    sample: str
    """What a figure is the mean of."""

    def seconds(self, value: float, size_bytes: int) -> float:
        """Returns the time of one message."""
        if self.mode == "pingpong":
            return value * 1e-6
        return size_bytes / (value * 1e6) * (2 if self.mode == "bidirectional" else 1)


_WINDOW = "in windows that the receiver acknowledges"
# By the title that each prints.
_TESTS: Mapping[str, _Test] = {
    "OSU MPI Latency Test": _Test(
        "osu_latency", "One pair: ping-pong, half of a round trip", "us", "pingpong",
        "a mean of half round trips",
    ),
    "OSU MPI Bandwidth Test": _Test(
        "osu_bw", f"One pair: messages one way, {_WINDOW}", "MB/s", "stream", "a mean over windows"
    ),
    "OSU MPI Bi-Directional Bandwidth Test": _Test(
        "osu_bibw", f"One pair: messages both ways at once, {_WINDOW}", "MB/s", "bidirectional",
        "a mean over windows",
    ),
}  # fmt: skip


def _recognises(output: OutputFile) -> bool:
    return any(_TITLE.match(line) for line in output.lines[:100])


def _parse(output: OutputFile) -> Measured:
    at, title, version = _title(output)
    # osu_bw of CUDA buffers calls itself `OSU MPI-CUDA Bandwidth Test` (osu_util_mpi.c, print_preamble).
    accelerator = found[1] if (found := re.match(r"OSU MPI-(\w+)", title)) else ""
    test = _TESTS.get(title.replace(f"-{accelerator}", "") if accelerator else title)
    if test is None:
        known = ", ".join(f"{one.program} ({name!r})" for name, one in _TESTS.items())
        raise output.fault(
            f"{title!r} has no figures of single messages between two ranks; crosscut imports {known}", at
        )
    head = _head(output, at, test.unit)
    lines = [line for line in range(head + 1, len(output.lines)) if output.lines[line][:1].isdigit()]
    _refuse_more(output, head, lines)
    rows, left_out = tables.rows(output, lines, 1, _DECIMALS)
    times = {}
    for row in rows:
        if "Fail" in row.words:
            raise output.fault(f"{test.program} found wrong bytes in these messages ('Fail')", row.line)
        if row.size_bytes == 0 and test.mode != "pingpong":
            raise output.fault("a rate of messages of 0 bytes", row.line)
        value = output.number(row.words[0], f"the figure in {test.unit}", row.line)
        times[row.size_bytes] = np.array([output.seconds(test.seconds(value, row.size_bytes), row.line)])
    if not times:
        raise output.fault("the table has no complete row", head)
    members: dict[str, Any] = sweep.arrays(times, test.mode)
    return Measured(
        program=f"{test.program} {version}".strip(),
        method=Method(
            test.program, test.summary + (f" ({accelerator} buffers)" if accelerator else ""),
            sweep.FORMULAS[test.mode], f"OSU micro-benchmarks, {test.program}.c", Shape.SWEEP,
            latency=test.mode == "pingpong",
            parameters={"mode": test.mode} | ({"buffers": accelerator} if accelerator else {}),
        ),
        carrier="mpi", hosts=("rank 0", "rank 1"), hosts_named=False,
        repetition=f"{test.sample}; {test.program} does not print how many",
        lacks=tables.rounding(map(_error, rows)),
        left_out=(*_further_columns(output, head, test.unit), *left_out, *_after(output, lines)), **members,
    )  # fmt: skip


def _title(output: OutputFile) -> tuple[int, str, str]:
    for line, text in enumerate(output.lines[:100]):
        if found := _TITLE.match(text):
            return line, found[1], found[2] or ""
    raise output.fault("no title of an OSU test, such as '# OSU MPI Bandwidth Test v7.4', in its first lines")


def _head(output: OutputFile, title: int, unit: str) -> int:
    """Returns the line with the names of the columns, if they are those of the test."""
    for line in range(title + 1, min(title + 20, len(output.lines))):
        text = output.lines[line]
        if text.startswith("# Size"):
            if f"({unit})" not in text:
                raise output.fault(f"no column in {unit}: {quoted(text)}", line)
            return line
    raise output.fault("no line '# Size …' follows the title", title)


def _refuse_more(output: OutputFile, head: int, rows: list[int]) -> None:
    """Raises UsageError if the file has another table, or a row that is not like one."""
    for line in range(head + 1, len(output.lines)):
        text = output.lines[line]
        if text.startswith("# Size") or _TITLE.match(text):
            raise output.fault("another table begins here: one table a file", line)
        if rows and rows[0] < line < rows[-1] and text.strip() and not text[:1].isdigit():
            raise output.fault(f"{quoted(text)} in the middle of the table", line)


def _after(output: OutputFile, rows: list[int]) -> tuple[str, ...]:
    """Quotes what follows the table: a launcher says there that the program was killed."""
    following = (line.strip("= ") for line in output.lines[rows[-1] + 1 :])
    said = next(filter(None, following), "")
    return (f"the table may lack sizes: it is followed by {quoted(said, 80)}",) if said else ()


def _error(row: tables.Row) -> float:
    return tables.half_step(row.words[0]) / float(row.words[0])


def _further_columns(output: OutputFile, head: int, unit: str) -> tuple[str, ...]:
    """Names the columns that the run leaves out, such as percentiles (-z)."""
    after = output.lines[head].partition(f"({unit})")[2].replace("Validation", "").split("  ")
    names = [name.strip() for name in after if name.strip()]
    return (f"columns left out: {', '.join(names)}",) if names else ()


FORMAT = Format("osu", "what osu_latency, osu_bw or osu_bibw prints", _recognises, _parse)
