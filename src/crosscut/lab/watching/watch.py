"""Watches this machine while a lab is measured: `python -m crosscut.lab.watching.watch`, until stdin ends.

A process of its own: in crosscut's a wake-up would wait for the interpreter, not for the machine. What it saw
is one line of JSON at the end (`Seen` of trust.py).
"""

from __future__ import annotations

import json
import os
import select
import sys
import time
from collections import Counter
from pathlib import Path

WAKE_SECONDS = 0.01
# /proc/stat counts in hundredths of a second: a window this long knows a core's share to 10 %. A window ends
# by the clock, not after ten wake-ups: these come late on a busy machine, and a window would outlast a run.
WINDOW_SECONDS = 0.1
# Then neighbours are merged: a run of a week is as large as one of an hour.
MOST_WINDOWS = 4096
# proc(5), /proc/stat: user nice system idle iowait irq softirq steal; guests are in user.
_NICE, _IDLE, _IOWAIT, _SOFTIRQ, _STEAL, _COUNTED = 1, 3, 4, 6, 7, 8

Window = list[float]
"""End (monotonic clock), seconds; of all cores' time the shares that were busy, stolen, and busy counting
processes with a nice value too; largest lateness in seconds; of the time of the core that carries most of the
network, the share that this took."""


def ticks(text: str, niceness: int) -> tuple[int, int, int, int]:
    """Ticks of all cores since boot: all, busy, stolen, busy with nice processes. The hypervisor's ticks were
    not to be had: busy. Processes with a nice value make room for ranks, unless the ranks have one too."""
    counts = [int(word) for word in text.split("\n", 1)[0].split()[1 : 1 + _COUNTED]]
    counts += [0] * (_COUNTED - len(counts))
    filled = sum(counts) - counts[_IDLE] - counts[_IOWAIT]
    return sum(counts), filled - (counts[_NICE] if niceness <= 0 else 0), counts[_STEAL], filled


def carrying(text: str) -> list[tuple[int, int]]:
    """[core] ticks since boot: all, and those of softirqs, in which frames pass queues and bridges."""
    found = []
    for line in text.splitlines():
        name, *words = line.split()
        if name.startswith("cpu") and name != "cpu":
            counts = [int(word) for word in words[:_COUNTED]]
            found.append((sum(counts), counts[_SOFTIRQ] if len(counts) > _SOFTIRQ else 0))
    return found


def fullest(before: list[tuple[int, int]], after: list[tuple[int, int]]) -> float:
    """The largest share of a core's time that softirqs took. Cores may come and go."""
    shares = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in zip(before, after, strict=False) if b[0] > a[0]]
    return max(shares, default=0.0)


def merged(windows: list[Window]) -> list[Window]:
    """Two by two; an odd one at the end stays."""
    found = []
    for first, second in zip(windows[::2], windows[1::2], strict=False):
        seconds = first[1] + second[1]
        *shares, frames = [(first[i] * first[1] + second[i] * second[1]) / seconds for i in (2, 3, 4, 6)]
        found.append([second[0], seconds, *shares, max(first[5], second[5]), frames])
    return found + windows[len(found) * 2 :]


def main() -> None:
    stat, niceness = Path("/proc/stat"), os.nice(0)
    windows: list[Window] = []
    late_microseconds: Counter[int] = Counter()
    began, text, latest = time.monotonic(), stat.read_text(encoding="ascii"), 0.0
    before, carried = ticks(text, niceness), carrying(text)
    window_seconds, ending = WINDOW_SECONDS, False
    print("watching", flush=True)
    while not ending:
        due = time.monotonic() + WAKE_SECONDS
        time.sleep(WAKE_SECONDS)
        now = time.monotonic()
        late_microseconds[round(1e6 * (now - due))] += 1
        latest = max(latest, now - due)
        full = now - began >= window_seconds
        # A job that is shorter than a window ends in the first one.
        ending = bool((windows or full) and select.select([sys.stdin], [], [], 0)[0])
        if not full and not ending:
            continue
        text = stat.read_text(encoding="ascii")
        after, carried_after = ticks(text, niceness), carrying(text)
        passed = max(after[0] - before[0], 1)
        shares = [(after[i] - before[i]) / passed for i in (1, 2, 3)]
        windows.append([now, now - began, *shares, latest, fullest(carried, carried_after)])
        began, before, carried, latest = now, after, carried_after, 0.0
        if not full:  # too few ticks to stand by themselves
            windows[-2:] = merged(windows[-2:])
        if len(windows) > MOST_WINDOWS:
            windows, window_seconds = merged(windows), 2 * window_seconds
    print(json.dumps({"cores": os.cpu_count(), "windows": windows, "late_microseconds": late_microseconds}))


if __name__ == "__main__":
    main()
