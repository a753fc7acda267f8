"""iperf3 with -J: streams between a client and a server, interval by interval.

Units, from iperf_api.c of iperf 3.21: an interval has each stream's `bytes` and `seconds`, and
`bits_per_second`, 8 times their ratio (line 4899, `bandwidth * 8`). It counts bytes where the document was
written (-J at the client or at the server): those handed to TCP, or received. At the end, the receiver's
bytes came until `end`, not within `seconds`, which are the sender's (line 4543). A time is that of one block
(`blksize`, -l) at the rate of its stream in the interval.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, NoReturn

import numpy as np

from crosscut.base import units
from crosscut.base.errors import plainly
from crosscut.imports.measured import Format, Measured, Method
from crosscut.imports.output import OutputFile, quoted
from crosscut.run.shape import Shape

_MOST_STREAMS = 1024
_LONGEST_ERROR = 200
# A server writes a fragment at the end of a test as an interval.
_WHOLE_INTERVAL = 0.5
_MOST_BLOCK_BYTES = 1 << 40
_MOST_BYTES = 32 << 20
_MOST, _SHORTEST_SECONDS = 1e18, 1e-6
"""The largest number, and the shortest interval, that are believed."""
_HERE, _THERE = 0, 1
"""Ranks: the end that wrote the document, and the other."""


@dataclass(frozen=True)
class _Stream:
    """One stream in one interval."""

    socket: int
    receiver: int
    """Rank."""
    bytes_per_second: float
    seconds: float


class _Document:
    """Members of the document, each checked as it is read."""

    def __init__(self, output: OutputFile, value: object) -> None:
        self.output, self.value = output, value

    def fault(self, where: str, what: str) -> NoReturn:
        raise self.output.fault(f"{where}: {what}")

    def member(self, value: object, key: str, where: str) -> object:
        if not isinstance(value, Mapping) or key not in value:
            self.fault(where or "the document", f"it has no member '{key}', which iperf3 writes")
        return value[key]

    def number(self, value: object, key: str, where: str, *, least: float = 0) -> float:
        found = self.member(value, key, where)
        if not isinstance(found, int | float) or isinstance(found, bool) or not least <= found <= _MOST:
            shown = json.dumps(found)[:40]
            self.fault(f"{where}.{key}", f"{shown} is no number from {least:g} to {_MOST:g}")
        return float(found)

    def items(self, value: object, key: str, where: str) -> Sequence[object]:
        found = self.member(value, key, where)
        if not isinstance(found, list):
            self.fault(f"{where}.{key}", "it is no list")
        return found

    def text(self, value: object, key: str, where: str) -> str:
        found = self.member(value, key, where)
        if not isinstance(found, str) or not found:
            self.fault(f"{where}.{key}", "it is no text")
        return found


def _recognises(output: OutputFile) -> bool:
    start = output.text[:4096].lstrip()
    return start.startswith("{") and '"start"' in start and ('"connected"' in start or '"version"' in start)


def _loaded(output: OutputFile) -> Mapping[str, object]:
    if output.size_bytes > _MOST_BYTES:
        raise output.fault(f"larger than {_MOST_BYTES >> 20} MiB: no test of iperf3 writes that much")
    try:
        value = json.loads(output.text)
    except (ValueError, RecursionError) as error:
        line = error.lineno - 1 if isinstance(error, json.JSONDecodeError) else None
        cut = "" if output.text.rstrip().endswith("}") else "; the file is cut off: iperf3's ends in '}'"
        raise output.fault(f"{plainly(error)}{cut}", line) from error
    if not isinstance(value, dict):
        raise output.fault("it is no JSON object")
    return value


def _parse(output: OutputFile) -> Measured:
    value = _loaded(output)
    document, start = _Document(output, value), value.get("start")
    if not value.get("intervals"):
        said = value.get("error")
        why = f"iperf3 says: {quoted(str(said), _LONGEST_ERROR)}" if said else "no intervals"
        raise output.fault(f"nothing was measured ({why})")
    test = document.member(start, "test_start", "start")
    udp = document.text(test, "protocol", "start.test_start") == "UDP"
    size = int(document.number(test, "blksize", "start.test_start", least=1))
    if size > _MOST_BLOCK_BYTES:
        document.fault("start.test_start.blksize", f"{size} bytes are impossible")
    if document.text(test, "protocol", "start.test_start") not in ("TCP", "UDP"):
        document.fault("start.test_start.protocol", "neither TCP nor UDP")
    intervals, left_out = _intervals(document, udp=udp)
    hosts = _hosts(document, start)
    arrays = _arrays(intervals, size)
    took = document.number(test, "duration", "start.test_start")
    began = _began(document, start)
    accepted = isinstance(start, Mapping) and "accepted_connection" in start
    roles = ("server", "client") if accepted else ("client", "server")
    label = _label(intervals[0], roles)
    sends = any(one.receiver == _THERE for one in intervals[0])
    return Measured(
        program=document.text(start, "version", "start").replace("iperf ", "iperf3 "),
        method=Method(
            "iperf3", f"A client and a server, {label}", "sum of m received / t_slowest", "iperf3, ESnet",
            Shape.STREAMS, formula_per="phase",
            parameters={"streams": str(len(intervals[0])), "direction": label.partition(", ")[2]},
        ),
        carrier="udp" if udp else "tcp", hosts=hosts, hosts_named=True, size_bytes=(size,),
        repetition="an interval of one test" if len(intervals) > 1 else "one test",
        lacks=_lacks(document, test, roles[_HERE], sends=sends, udp=udp), left_out=tuple(left_out),
        phase_labels=(label,), start=_stamp(began), end=_stamp(began + took) if began else "",
        further=_tcp(value), **arrays,
    )  # fmt: skip


def _intervals(document: _Document, *, udp: bool) -> tuple[list[list[_Stream]], list[str]]:
    """Returns the streams of every interval that counts, or one entry for the whole test if intervals do not
    tell what arrived; and what was left out."""
    found, left_out = _after_omitted(document)
    if udp and any(one.receiver == _THERE for one in found[0]):
        why = "intervals left out: over UDP a sender counts what it sent, not what arrived"
        return [_whole(document)], [*left_out, why]
    longest = max(streams[0].seconds for streams in found)
    whole = [streams for streams in found if streams[0].seconds >= _WHOLE_INTERVAL * longest]
    if short := len(found) - len(whole):
        left_out.append(f"{units.count(short, 'interval')} left out: shorter than half of the longest")
    if stalled := sum(any(one.bytes_per_second <= 0 for one in streams) for streams in whole):
        why = f"intervals left out: in {stalled} of {len(whole)} a stream moved nothing, so it had no rate"
        return [_whole(document)], [*left_out, why]
    return whole, left_out


def _after_omitted(document: _Document) -> tuple[list[list[_Stream]], list[str]]:
    """Returns the streams of every interval that iperf3 was not told to omit; and what it was."""
    found, omitted = [], 0
    intervals = document.items(document.value, "intervals", "the document")
    for number, interval in enumerate(intervals):
        where = f"intervals[{number}]"
        streams = document.items(interval, "streams", where)
        _check_count(document, streams, where)
        if any(isinstance(one, Mapping) and one.get("omitted") is True for one in streams):
            omitted += 1
            continue
        found.append([_stream(document, one, f"{where}.streams[{at}]") for at, one in enumerate(streams)])
        if [one.socket for one in found[-1]] != [one.socket for one in found[0]]:
            document.fault(where, "other streams than in the intervals before")
    if not found:
        raise document.output.fault("iperf3 was told to omit every interval (--omit)")
    left_out = [f"{omitted} of {len(intervals)} intervals left out, as --omit asked"] if omitted else []
    return found, left_out


def _check_count(document: _Document, streams: Sequence[object], where: str) -> None:
    if not 0 < len(streams) <= _MOST_STREAMS:
        document.fault(where, f"{len(streams)} streams; there must be 1 to {_MOST_STREAMS:,}")


def _stream(document: _Document, of: object, where: str, *, took: str = "seconds") -> _Stream:
    """`took`: name of the member with the time."""
    seconds = document.number(of, took, where, least=_SHORTEST_SECONDS)
    is_sender = document.member(of, "sender", where) is True
    socket = int(document.number(of, "socket", where))
    moved = document.number(of, "bytes", where)
    return _Stream(socket, _THERE if is_sender else _HERE, moved / seconds, seconds)


def _whole(document: _Document) -> list[_Stream]:
    """Returns each stream's rate over the whole test, of the bytes that arrived."""
    found = []
    streams = document.items(document.member(document.value, "end", ""), "streams", "end")
    _check_count(document, streams, "end.streams")
    for at, one in enumerate(streams):
        is_udp = isinstance(one, Mapping) and "udp" in one
        where = f"end.streams[{at}].{'udp' if is_udp else 'receiver'}"
        of = document.member(one, "udp" if is_udp else "receiver", where)
        stream = _stream(document, of, where, took="end")
        if is_udp:
            arrived = _arrived(document, of, where)
            stream = replace(stream, bytes_per_second=arrived * stream.bytes_per_second)
        if stream.bytes_per_second <= 0:
            document.fault(where, "nothing arrived, so there is no rate")
        found.append(stream)
    return found


def _arrived(document: _Document, udp: object, where: str) -> float:
    """Returns the share of a UDP stream's packets that arrived."""
    return 1 - document.number(udp, "lost_packets", where) / document.number(udp, "packets", where, least=1)


def _arrays(intervals: Sequence[Sequence[_Stream]], size: int) -> dict[str, Any]:
    by_receiver = {
        rank: [at for at, one in enumerate(intervals[0]) if one.receiver == rank] for rank in (_HERE, _THERE)
    }
    slots = max(map(len, by_receiver.values()))
    peer = np.full((1, 2, slots), -1, np.int32)
    seconds = np.full((1, len(intervals), 1, 2, slots), np.nan)
    ranks = np.full(seconds.shape[:-1], np.nan)
    for rank, members in by_receiver.items():
        peer[0, rank, : len(members)] = 1 - rank
        for repetition, streams in enumerate(intervals):
            rates = np.array([streams[at].bytes_per_second for at in members])
            seconds[0, repetition, 0, rank, : len(members)] = size / rates
            if members:
                ranks[0, repetition, 0, rank] = len(members) * size / rates.sum()
    return {
        "peer": peer,
        "message_seconds": seconds,
        "rank_seconds": np.where(np.isnan(ranks), np.nanmax(ranks, axis=-1, keepdims=True), ranks),
        "credited_bytes": np.full((1, 1), float(size * len(intervals[0]))),
    }


def _label(streams: Sequence[_Stream], roles: tuple[str, str]) -> str:
    ways = {one.receiver for one in streams}
    way = "both ways" if len(ways) > 1 else f"to the {roles[ways.pop()]}"
    return f"{units.count(len(streams), 'stream')}, {way}"


def _hosts(document: _Document, start: object) -> tuple[str, str]:
    connected = document.items(start, "connected", "start")
    if not connected:
        document.fault("start.connected", "no connection")
    where = "start.connected[0]"
    server = start.get("connecting_to") if isinstance(start, Mapping) else None
    named = server.get("host") if isinstance(server, Mapping) else None
    remote = document.text(connected[0], "remote_host", where)
    return document.text(connected[0], "local_host", where), named if isinstance(named, str) else remote


def _began(document: _Document, start: object) -> float:
    stamp = document.member(start, "timestamp", "start")
    return document.number(stamp, "timesecs", "start.timestamp")


def _stamp(seconds: float) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if seconds else ""
    except (OverflowError, ValueError, OSError):
        return ""


def _lacks(document: _Document, test: object, here: str, *, sends: bool, udp: bool) -> tuple[str, ...]:
    value: Any = document.value
    found = ["iperf3 does not time blocks: a time is that of one block at the rate of its stream"]
    if sends and not udp:
        found.append(f"what the {here} sent is counted when it is handed to TCP, not when it arrives")
    if (asked := document.number(test, "target_bitrate", "start.test_start")) > 0:
        found.append(f"iperf3 was asked to send no faster than {units.bit_rate(asked)} a stream (-b)")
    end = value.get("end")
    total = end.get("sum") if isinstance(end, Mapping) else None
    lost = total.get("lost_percent") if isinstance(total, Mapping) else None
    if udp and isinstance(lost, int | float) and lost > 0:
        found.append(f"{lost:.2g} % of the packets were lost; rates count those that arrived")
    if isinstance(said := value.get("error"), str):
        found.append(f"the test did not end: iperf3 says {quoted(said, _LONGEST_ERROR)}")
    return tuple(found)


def _tcp(value: Mapping[str, object]) -> dict[str, object]:
    end = value.get("end")
    control = end.get("sender_tcp_congestion") if isinstance(end, Mapping) else None
    return {"tcp": {"congestion_control": control}} if isinstance(control, str) and control else {}


FORMAT = Format("iperf3", "what iperf3 -J prints", _recognises, _parse)
