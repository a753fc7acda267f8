"""sockperf: the log of every message that `sockperf ping-pong --full-log FILE` writes.

Units, from sockperf 3.7 (src/client.cpp:337, dumpFullLog): `latency(usec)` is half of rxTime - txTime, in
microseconds; with --full-rtt the column is `round-trip(usec)`, and not halved. Each message is a repetition.
The log names neither hosts nor transport.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from crosscut.imports import sweep
from crosscut.imports.measured import Format, Measured, Method
from crosscut.imports.output import OutputFile, decimals, quoted
from crosscut.run.shape import Shape

_HEAD = re.compile(r"packet, txTime\(sec\), rxTime\(sec\), (\S+)\(usec\)")
_SETTINGS = re.compile(r"test was performed using the following parameters: (.*)")
_VERSION = re.compile(r"sockperf: == version #(\S+) == ")
_HALVES = {"latency": 1.0, "round-trip": 2.0}
_COLUMNS = 4
_LARGEST_MESSAGE = 1 << 40


def _recognises(output: OutputFile) -> bool:
    return any(_SETTINGS.match(line) or line.startswith("sockperf: ") for line in output.lines[:50])


def _parse(output: OutputFile) -> Measured:
    head, halves = _head(output)
    size = _size(output, head)
    taken, left_out = _messages(output, head, halves)
    members: dict[str, Any] = sweep.arrays({size: np.array(taken)}, "pingpong")
    return Measured(
        program="sockperf",
        method=Method(
            "sockperf", "One pair: ping-pong over sockets, half of a round trip of every message",
            sweep.FORMULAS["pingpong"], "sockperf", Shape.SWEEP, latency=True,
            parameters={"mode": "pingpong"},
        ),
        carrier="", hosts=("client", "server"), hosts_named=False,
        repetition="one message", lacks=("the log does not tell TCP from UDP",),
        left_out=left_out, **members,
    )  # fmt: skip


def _head(output: OutputFile) -> tuple[int, float]:
    """Returns the line with the names of the columns, and the halves of a round trip in its last column."""
    for line, text in enumerate(output.lines[:200]):
        if found := _HEAD.fullmatch(text.strip()):
            if found[1] not in _HALVES:
                raise output.fault(f"an unknown last column, {quoted(found[1])}", line)
            return line, _HALVES[found[1]]
    raise output.fault(
        "no table of messages; what sockperf shows lacks them, and the message size: import the file that "
        "'sockperf ping-pong --full-log FILE' writes"
    )


def _size(output: OutputFile, head: int) -> int:
    for line in range(head):
        if found := _SETTINGS.match(output.lines[line]):
            given = dict(re.findall(r"--([a-z-]+)=(\S+)", found[1]))
            if given.get("reply-every", "1") != "1":
                raise output.fault(
                    f"--reply-every={given['reply-every']}: messages between two replies loaded the route "
                    "(sockperf under-load), and are not in the log; crosscut imports ping-pong",
                    line,
                )
            if "msg-size" not in given:
                raise output.fault("no --msg-size among the parameters", line)
            return output.whole(given["msg-size"], "--msg-size", line, _LARGEST_MESSAGE)
    raise output.fault("no line 'test was performed using the following parameters: …' above", head)


def _messages(output: OutputFile, head: int, halves: float) -> tuple[list[float], tuple[str, ...]]:
    """Returns the half round trips in seconds, and what was left out."""
    taken: list[float] = []
    for line in range(head + 1, len(output.lines)):
        text = output.lines[line]
        if text.startswith("---"):
            return taken, ()
        words = [word.strip() for word in text.split(",")]
        last = not output.ended and line == len(output.lines) - 1
        if last and (len(words) < _COLUMNS or decimals(words[-1]) < 3):
            break
        if text.strip():
            if len(words) != _COLUMNS:
                raise output.fault(f"{len(words)} columns instead of {_COLUMNS}", line)
            value = output.number(words[-1], "the latency", line) / halves
            taken.append(output.seconds(value * 1e-6, line))
    if not taken:
        raise output.fault("no message follows the names of the columns", head)
    return taken, ("the file ends within its table: later messages are missing",)


FORMAT = Format("sockperf", "what sockperf ping-pong --full-log writes", _recognises, _parse)
