"""perftest: what ib_write_bw, ib_send_lat and its other tests show.

Units, from src/perftest_parameters.c of perftest 4.5: a bandwidth is `size * iterations` of all queue pairs
over the time, in 2^20 bytes per second (`0x100000`; the column is called MB/sec, later MiB/sec) or, with
--report_gbits, in 10^9 bits per second (`125000000`), of both directions together with -b (`bw_avg +=
rem_bw_rep->bw_avg`). MsgRate is the same in 10^6 messages per second; it has six decimals, so it shows the
rates of small messages. A latency is half of a round trip in microseconds (`rtt_factor`). `t_typical` is
the median of all iterations but the two slowest; -U lists the time of each.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from crosscut.imports import sweep, tables
from crosscut.imports.measured import Floats, Format, Measured, Method
from crosscut.imports.output import OutputFile, quoted
from crosscut.run.shape import Shape

_TITLE = re.compile(r" {10,}((?:Send|RDMA_|Atomic|Raw)[\w -]* Test)")
_KNOWN = re.compile(r"(Send|RDMA_Write|RDMA_Read)( Bidirectional)?( Post List)? (BW|Latency) Test")
_VERBS = {
    "Send": ("send", "sends"),
    "RDMA_Write": ("write", "RDMA writes"),
    "RDMA_Read": ("read", "RDMA reads"),
}
_SETTING = re.compile(r"([A-Z][\w ]*?)\s*: (\S{1,40})")
_KEPT = {"Number of qps": "queue-pairs", "Connection type": "connection", "TX depth": "depth", "Mtu": "mtu"}
_LIST = re.compile(r"#, (\w+)")
_ENTRY = re.compile(r"\d+, (\S+)")
_RULE = re.compile(r"-{20,}\s*")
_MOST_ITERATIONS = 1 << 50
_FIRST_LINES, _HEAD_LINES = 200, 60
# By how much a rate and the message rate may differ, beside their rounding.
_ARITHMETIC = 1e-3


@dataclass(frozen=True)
class _Columns:
    """The columns after the size."""

    count: int
    places: int
    """Decimals of the last one."""
    figure: int
    """Which of them is imported."""
    what: str
    unit: float = 0
    """Bytes per second; 0: the figure is a time in microseconds."""


_BW = r"#bytes +#iterations +BW peak\[{0}\] +BW average\[{0}\] +MsgRate\[Mpps\]"
_TIMES = r"#bytes +#iterations +t_min\[usec\] +t_max\[usec\] +t_typical\[usec\] .*99\.9% percentile\[usec\]"
_HEADS: Mapping[str, _Columns] = {
    _BW.format("Mi?B/sec"): _Columns(4, 6, 2, "mean", 1 << 20),
    _BW.format("Gb/sec"): _Columns(4, 6, 2, "mean", 125e6),
    _TIMES: _Columns(8, 2, 3, "median"),
    r"#bytes +#iterations +t_avg\[usec\] +tps average": _Columns(3, 2, 1, "mean"),
}


@dataclass(frozen=True)
class _PerfTest:
    verb: str
    both_ways: bool
    latency: bool

    @property
    def program(self) -> str:
        return f"ib_{_VERBS[self.verb][0]}_{'lat' if self.latency else 'bw'}"

    @property
    def mode(self) -> sweep.Mode:
        return "pingpong" if self.latency else "bidirectional" if self.both_ways else "stream"

    def summary(self, settings: Mapping[str, str]) -> str:
        way = (
            "there and back, half of a round trip"
            if self.latency
            else "both ways at once"
            if self.both_ways
            else "one way"
        )
        how = [settings[name] for name in ("Connection type",) if name in settings]
        if (pairs := settings.get("Number of qps", "1")) != "1":
            how.append(f"{pairs} queue pairs")
        return f"One pair: {_VERBS[self.verb][1]} {way}" + (f" ({', '.join(how)})" if how else "")


@dataclass(frozen=True)
class _Listing:
    rows: list[tables.Row]
    listed: Mapping[int, Floats]
    """Seconds of every message, by the line of the row that they precede (-U)."""
    left_out: tuple[str, ...]


def _recognises(output: OutputFile) -> bool:
    return any(map(_TITLE.fullmatch, output.lines[:_FIRST_LINES]))


def _parse(output: OutputFile) -> Measured:
    title, test = _title(output)
    head, columns, further = _head(output, title)
    settings = _settings(output, title, head)
    table = _rows(output, head, columns)
    times: dict[int, Floats] = {}
    errors = []
    for row in table.rows:
        seconds, error = _seconds(output, row, columns, test)
        times[row.size_bytes] = table.listed.get(row.line, np.array([seconds]))
        errors.append(error)
    if not times:
        raise output.fault("the table has no complete row", head)
    members: dict[str, Any] = sweep.arrays(times, test.mode)
    fewest = min(output.whole(row.words[0], "#iterations", row.line, _MOST_ITERATIONS) for row in table.rows)
    each = f"the {columns.what} of {fewest:,} {'half round trips' if test.latency else 'messages'}"
    return Measured(
        program=f"{test.program} of perftest",
        method=Method(
            test.program, test.summary(settings), sweep.FORMULAS[test.mode], f"perftest, {test.program}",
            Shape.SWEEP, latency=test.latency,
            parameters={"mode": test.mode}
            | {name: settings[said] for said, name in _KEPT.items() if said in settings},
        ),
        # The data of a read comes from the server.
        carrier="verbs", hosts=("server", "client") if test.verb == "RDMA_Read" else ("client", "server"),
        hosts_named=False, repetition="one half round trip" if table.listed else each,
        iterations=fewest if columns.what == "mean" else 1, lacks=tables.rounding(errors),
        left_out=(*further, *table.left_out), **members,
    )  # fmt: skip


def _title(output: OutputFile) -> tuple[int, _PerfTest]:
    line = next((at for at, text in enumerate(output.lines[:_FIRST_LINES]) if _TITLE.fullmatch(text)), None)
    if line is None:
        raise output.fault("no title of a test of perftest, such as 'RDMA_Write BW Test', in its first lines")
    title = output.lines[line].strip()
    known = _KNOWN.fullmatch(title)
    if known is None:
        raise output.fault(
            f"{quoted(title)} has no figures of messages between two ranks; crosscut imports ib_write_bw, "
            "ib_read_bw, ib_send_bw, ib_write_lat and ib_send_lat",
            line,
        )
    test = _PerfTest(known[1], bool(known[2]), known[4] == "Latency")
    if test.latency and test.verb == "RDMA_Read":
        raise output.fault(
            "a read takes the time of a short request and of a long answer, not half of a round trip; "
            "crosscut imports the latency of writes and of sends",
            line,
        )
    return line, test


def _head(output: OutputFile, title: int) -> tuple[int, _Columns, tuple[str, ...]]:
    """Returns the line with the names of the columns, what they are, and which are left out."""
    for line in range(title + 1, min(title + _HEAD_LINES, len(output.lines))):
        text = output.lines[line].strip()
        if not text.startswith("#bytes"):
            continue
        for form, columns in _HEADS.items():
            if found := re.match(form, text):
                names = text[found.end() :].split()
                return line, columns, ((f"columns left out: {', '.join(names)}",) if names else ())
        raise output.fault(f"unknown columns: {quoted(text, 80)}", line)
    raise output.fault("no line '#bytes #iterations …' follows the title", title)


def _settings(output: OutputFile, title: int, head: int) -> Mapping[str, str]:
    parts = (part.strip() for text in output.lines[title + 1 : head] for part in text.split("\t\t"))
    return {found[1]: found[2] for part in parts if (found := _SETTING.fullmatch(part))}


def _rows(output: OutputFile, head: int, columns: _Columns) -> _Listing:
    lines: list[int] = []
    listed: dict[int, Floats] = {}
    entries: list[float] = []
    for line in range(head + 1, len(output.lines)):
        text = output.lines[line].strip()
        is_cut = not output.ended and line == len(output.lines) - 1
        if _TITLE.fullmatch(output.lines[line]):
            raise output.fault("another table begins here: one table a file", line)
        if found := _LIST.fullmatch(text):
            if found[1] != "usec":
                raise output.fault(f"times in {found[1]}, not usec: measure without -C", line)
        elif found := _ENTRY.fullmatch(text):
            if not is_cut:
                entries.append(output.seconds(output.number(found[1], "the time", line) * 1e-6, line))
        elif text[:1].isdigit() or (is_cut and output.lines[line] and not text):  # rows begin with a blank
            lines.append(line)
            if entries:
                listed[line], entries = np.array(entries), []
    rows, left_out = tables.rows(output, lines, columns.count, columns.places)
    if rows and not any(map(_RULE.fullmatch, output.lines[lines[-1] + 1 :])):
        left_out.append("the table may lack sizes: no line of dashes closes it")
    if entries:
        left_out.append("the file ends before the row of a size: the times listed for it are left out")
    # -H sorts: such a list does not say when a message was slow.
    unsorted = {line: times for line, times in listed.items() if (np.diff(times) < 0).any()}
    if len(unsorted) < len(listed):
        left_out.append("sorted times are left out (-H); -U lists them in their order")
    return _Listing(rows, unsorted, tuple(left_out))


def _seconds(output: OutputFile, row: tables.Row, columns: _Columns, test: _PerfTest) -> tuple[float, float]:
    """Returns the time of one message, and the relative error of its rounding."""
    word = row.words[columns.figure]
    if not columns.unit:
        value = output.number(word, f"the {columns.what} in usec", row.line)
        return output.seconds(value * 1e-6, row.line), tables.half_step(word) / value
    if row.size_bytes == 0:
        raise output.fault("a rate of messages of 0 bytes", row.line)
    # Two roundings of one rate: of megabytes, and of messages.
    roundings = [(word, columns.unit), (row.words[3], 1e6 * row.size_bytes)]
    rates = [
        (output.number(one, "a rate", row.line) * unit, tables.half_step(one) * unit)
        for one, unit in roundings
        if one.strip("0.")
    ]
    if not rates:
        raise output.fault(
            "both BW average and MsgRate are 0: nothing was counted between the margins of -D; run it longer",
            row.line,
        )
    (rate, step), *_ = sorted(rates, key=lambda one: one[1] / one[0])
    if any(abs(rate - other) > step + off + _ARITHMETIC * rate for other, off in rates):
        raise output.fault(
            f"BW average {word} and MsgRate {row.words[3]} are not of the same messages of "
            f"{row.size_bytes} bytes",
            row.line,
        )
    return output.seconds(row.size_bytes / rate * (2 if test.both_ways else 1), row.line), step / rate


FORMAT = Format("perftest", "what ib_write_bw, ib_send_lat and the like show", _recognises, _parse)
