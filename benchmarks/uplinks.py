"""`python -m benchmarks.uplinks`: what connections and rails reach of hashed uplinks, in an emulated cluster.

Eight hosts with two adapters, each on a network of its own: two leaves, and four spines. A leaf's hosts can
send twice what its four uplinks carry; a hash of addresses and ports picks the uplink of a connection. Each
host of one leaf exchanges messages with one of the other, over one rail or both, each with K connections. The
rate of all is compared with what the uplinks carry. A message is cut into equal parts, so the uplink with
most connections decides.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.conditions import describe, preferred, print_table, sentence
from benchmarks.processes import BenchmarkError, crosscut, exit_when_terminated
from crosscut.analysis.stats.intervals import Floats
from crosscut.lab import lifecycle
from crosscut.run.run import Run

HOSTS, SPINES, MEGABITS = 8, 4, 10
LIMIT_SECONDS = 300
_PAYLOAD = 1448 / 1538


def network() -> str:
    half, lines = HOSTS // 2, [f'[host]\nadapters = 2\n[[hosts]]\nnames = "n[0-{HOSTS - 1}]"']
    for rail in "ab":
        lines.append(f'[[switches]]\nnames = ["{rail}-leaf0", "{rail}-leaf1"]')
        lines.append(f'[[switches]]\nnames = "{rail}-spine[0-{SPINES - 1}]"\nlevel = 1')
        for leaf in range(2):
            hosts, name = f"n[{leaf * half}-{leaf * half + half - 1}]", f"{rail}-leaf{leaf}"
            for between, rate in ((hosts, 2 * MEGABITS), (f"{rail}-spine[0-{SPINES - 1}]", MEGABITS)):
                lines.append(f'[[links]]\nbetween = ["{between}", "{name}"]\nrate = "{rate} Mbit/s"')
    protocol = "[protocol]\nmtu = 1500\nheaders = 52\nframing = 38\n"
    return "\n".join([*lines, protocol, '[routing]\nspread = "ecmp"\n'])


def measured(folder: Path, place: str, rails: int, connections: int, launch: int) -> Floats:
    """Returns [repetition] the rate of all routes together, of what the uplinks of these rails carry."""
    out = folder / f"{launch}-{rails}-{connections}.zarr"
    words = ["run", "simple-pairwise", "--on", place, "--size", "1MB", "--phases", "1", "--quiet"]
    words += [
        "--rails",
        str(rails),
        "--tcp-connections",
        str(connections),
        "--repetitions",
        "6",
        "--out",
        str(out),
    ]
    crosscut(words, LIMIT_SECONDS)
    seconds = Run.open(out).rank_seconds(0).values.reshape(-1, HOSTS).max(axis=1)
    carried = 2 * rails * SPINES * MEGABITS * 1e6 / 8 * _PAYLOAD
    return np.asarray(HOSTS * 1e6 / seconds / carried)


def rows(folder: Path, launches: int) -> Iterator[tuple[str, ...]]:
    file = folder / "uplinks.toml"
    file.write_text(network(), encoding="utf-8")
    record = lifecycle.up(str(file), lifecycle.for_one_run(str(file), "user"))
    try:
        for rails in (1, 2):
            for connections in (1, 4, 16, 64):
                shares = [
                    float(np.median(measured(folder, f"lab:{record.name}", rails, connections, launch)))
                    for launch in range(launches)
                ]
                print(f"{rails} rails, {connections} connections: {shares}", file=sys.stderr, flush=True)
                yield (
                    str(rails), str(connections), f"{statistics.median(shares):.3f}",
                    f"{min(shares):.3f} – {max(shares):.3f}",
                )  # fmt: skip
    finally:
        lifecycle.taking_down(record)()


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.uplinks", description=__doc__)
    parser.add_argument("--launches", type=int, default=5, help="runs of each row, with new ports (5)")
    args = parser.parse_args(words)
    exit_when_terminated()
    print(sentence(describe()), flush=True)
    try:
        with tempfile.TemporaryDirectory() as folder, preferred():
            print_table(
                ("rails", "connections of each", "share of the uplinks", "least – most"),
                list(rows(Path(folder), args.launches)),
            )
    except BenchmarkError as error:
        print(f"benchmarks.uplinks: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
