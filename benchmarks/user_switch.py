"""`python -m benchmarks.user_switch`: rate and cost of crosscut-switch, against the kernel's switch.

All nodes of an emulated cluster send to each other at once (aapc): 16 at 100 Mbit/s, 64 at 10. The same
messages go over one switch after the other. Compared are the rate per node, against its link's payload rate,
and the processor time of the switch and of the whole machine per megabyte of payload. The machine's time
includes the ranks and their TCP, token buckets, and all other programs: use a quiet machine. Needs what a
lab needs.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks.conditions import describe, preferred, print_table, sentence, write_json
from benchmarks.processes import BenchmarkError, output_of
from crosscut.base.errors import CrosscutError
from crosscut.lab import lifecycle, state
from crosscut.lab.switch import program
from crosscut.run.run import Run

CLUSTERS = ((16, 100), (64, 10))
"""Nodes, Mbit/s."""
SWITCHES = ("kernel", "user")
MESSAGE_SECONDS = 0.08
"""Time of a message at the link's rate, long against TCP's slow start."""
# A full frame carries 1448 bytes of payload in 1538 on the wire, with TCP time stamps (IEEE 802.3, RFC 7323).
PAYLOAD_SHARE = 1448 / 1538
LIMIT_SECONDS = 300
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Carried:
    nodes: int
    link_mbit_s: float
    switch: str
    rate_mbit_s: float
    """Payload per node and direction, of the median message."""
    slowest_mbit_s: float
    """The median over phases of the slowest message."""
    payload_mb: float
    switch_ms_per_mb: float | None
    """None for the kernel, whose cost is part of the machine's."""
    machine_ms_per_mb: float
    machine_busy: float
    """Share of all cores."""
    late_p99_seconds: float | None
    frames_per_piece: float | None


@contextmanager
def cluster(folder: Path, nodes: int, mbit_s: float, switch: str) -> Iterator[state.Record]:
    network = folder / f"{nodes}x{mbit_s:g}.toml"
    network.write_text(
        f'[generator]\nkind = "crossbar"\nhosts = {nodes}\nrate = "{mbit_s:g} Mbit/s"\n'
        "[protocol]\nmtu = 1500\nheaders = 52\nframing = 38\n"
    )
    choices = lifecycle.Choices(name=f"bench-{os.getpid()}", owner=state.this_process(), switch=switch)
    record = lifecycle.up(str(network), choices)
    try:
        yield record
    finally:
        lifecycle.taking_down(record)()


def machine_seconds() -> tuple[float, float]:
    """Returns the (busy, total) seconds of all cores since boot: proc_stat(5)."""
    user, nice, system, idle, wait, hard, soft, steal = map(
        int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
    )
    busy = user + nice + system + hard + soft
    return busy / TICKS, (busy + idle + wait + steal) / TICKS


def switch_statistics(record: state.Record) -> dict[str, float] | None:
    if record.switch_process is None:
        return None
    said = program.statistics(record)
    return {
        "cpu": said["cpu_share"] * said["seconds"],
        "late": said["lateness_lately_seconds"]["p99"],
        "frames": said["frames"]["delivered"],
        "pieces": said["pieces"]["written"],
    }


def measure(folder: Path, nodes: int, mbit_s: float, switch: str, repetitions: int) -> Carried:
    size = round(mbit_s * 1e6 / 8 * PAYLOAD_SHARE * MESSAGE_SECONDS)
    out = folder / f"{nodes}-{switch}.zarr"
    with cluster(folder, nodes, mbit_s, switch) as record:
        before, first = switch_statistics(record), machine_seconds()
        output_of(
            [sys.executable, "-m", "crosscut", "run", "aapc", "--on", f"lab:{record.name}",
             "--size", str(size), "--repetitions", str(repetitions), "--iterations", "1", "--warm-up", "0",
             "--quiet", "--out", out],
            "", LIMIT_SECONDS,
        )  # fmt: skip
        last, after = machine_seconds(), switch_statistics(record)
    seconds = np.asarray(Run.open(out).message_seconds(0).values)[..., 0]  # [repetition, phase, rank]
    payload_mb = float(np.isfinite(seconds).sum()) * size / 1e6
    busy, elapsed = last[0] - first[0], last[1] - first[1]
    own = None if before is None or after is None else {key: after[key] - before[key] for key in after}
    return Carried(
        nodes, mbit_s, switch,
        rate_mbit_s=size * 8e-6 / float(np.nanmedian(seconds)),
        slowest_mbit_s=size * 8e-6 / float(np.nanmedian(np.nanmax(seconds, axis=2))),
        payload_mb=payload_mb,
        switch_ms_per_mb=None if own is None else own["cpu"] * 1e3 / payload_mb,
        machine_ms_per_mb=busy * 1e3 / payload_mb,
        machine_busy=busy / elapsed,
        late_p99_seconds=None if after is None else after["late"],
        frames_per_piece=None if own is None else own["frames"] / own["pieces"],
    )  # fmt: skip


def row(one: Carried) -> tuple[str, ...]:
    def shown(value: float | None, times: float = 1.0) -> str:
        return "" if value is None else f"{value * times:.2f}"

    share = one.rate_mbit_s / (one.link_mbit_s * PAYLOAD_SHARE)
    return (
        f"{one.nodes} x {one.link_mbit_s:g} Mbit/s", one.switch, f"{one.rate_mbit_s:.2f}", f"{share:.1%}",
        f"{one.slowest_mbit_s:.2f}", shown(one.switch_ms_per_mb), shown(one.machine_ms_per_mb),
        f"{one.machine_busy:.0%}", shown(one.late_p99_seconds, 1e3), shown(one.frames_per_piece),
    )  # fmt: skip


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.user_switch", description=__doc__)
    parser.add_argument("--repetitions", type=int, default=3, metavar="N", help="(%(default)s)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write everything as JSON")
    args = parser.parse_args(words)
    if (reason := lifecycle.unavailable()) is not None:
        print(f"benchmarks.user_switch: no lab can be built: {reason}", file=sys.stderr)
        return 1
    machine = describe()
    print(sentence(machine), flush=True)
    head = ("cluster", "switch", "Mbit/s a node", "of payload", "slowest", "switch ms/MB", "machine ms/MB",
            "busy", "late p99 ms", "frames a piece")  # fmt: skip
    found: list[Carried] = []
    try:
        with tempfile.TemporaryDirectory(prefix="crosscut-bench-") as folder, preferred():
            found.extend(
                measure(Path(folder), nodes, mbit_s, switch, args.repetitions)
                for nodes, mbit_s in CLUSTERS
                for switch in SWITCHES
            )
    except (BenchmarkError, CrosscutError, subprocess.SubprocessError) as error:
        print(f"benchmarks.user_switch: {error}", file=sys.stderr)
        return 1
    finally:
        print_table(head, [row(one) for one in found])
        write_json(args.out, {"machine": machine, "carried": [asdict(one) for one in found]})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
