"""Watches this machine while a lab is measured: `python -m crosscut.lab.watching.watch`, until stdin closes.

It is a separate process, because in crosscut's own a wake-up would also wait for the interpreter. At the end
it prints its observations as one line of JSON (`Seen` in trust.py).
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
# /proc/stat counts in hundredths of a second, so a window this long resolves a core's share to 10 %. Windows
# end by the clock, not after ten wake-ups, which come late on a busy machine: a window could outlast a run.
WINDOW_SECONDS = 0.1
# Beyond this, adjacent windows are merged, so that a week's record is no larger than an hour's.
MOST_WINDOWS = 4096
# proc(5), /proc/stat: user nice system idle iowait irq softirq steal; guest time is included in user.
_NICE, _IDLE, _IOWAIT, _SOFTIRQ, _STEAL, _COUNTED = 1, 3, 4, 6, 7, 8

Window = list[float]
"""[end (monotonic clock), length, busy share, stolen share, busy share with nice processes, largest lateness,
softirq share of the core that spends most on it]: times in seconds, the first three shares of all cores'
time."""


def ticks(text: str, niceness: int) -> tuple[int, int, int, int]:
    """Ticks of all cores since boot: (all, busy, stolen, busy including nice processes).

    Stolen ticks count as busy: the hypervisor withheld them. Nice processes make room for ranks, so they are
    not busy, unless the ranks are nice too (`niceness` above 0).
    """
    counts = [int(word) for word in text.split("\n", 1)[0].split()[1 : 1 + _COUNTED]]
    counts += [0] * (_COUNTED - len(counts))
    filled = sum(counts) - counts[_IDLE] - counts[_IOWAIT]
    return sum(counts), filled - (counts[_NICE] if niceness <= 0 else 0), counts[_STEAL], filled


def carrying(text: str) -> list[tuple[int, int]]:
    """[core] (all ticks, softirq ticks) since boot. Frames pass queues and bridges in softirqs."""
    found = []
    for line in text.splitlines():
        name, *words = line.split()
        if name.startswith("cpu") and name != "cpu":
            counts = [int(word) for word in words[:_COUNTED]]
            found.append((sum(counts), counts[_SOFTIRQ] if len(counts) > _SOFTIRQ else 0))
    return found


def fullest(before: list[tuple[int, int]], after: list[tuple[int, int]]) -> float:
    """The largest share of any core's time spent in softirqs. Cores may come and go."""
    shares = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in zip(before, after, strict=False) if b[0] > a[0]]
    return max(shares, default=0.0)


def merged(windows: list[Window]) -> list[Window]:
    """Merges windows in pairs; an odd one at the end stays."""
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
        # Even a job shorter than a window is watched for one whole window.
        ending = bool((windows or full) and select.select([sys.stdin], [], [], 0)[0])
        if not full and not ending:
            continue
        text = stat.read_text(encoding="ascii")
        after, carried_after = ticks(text, niceness), carrying(text)
        passed = max(after[0] - before[0], 1)
        shares = [(after[i] - before[i]) / passed for i in (1, 2, 3)]
        windows.append([now, now - began, *shares, latest, fullest(carried, carried_after)])
        began, before, carried, latest = now, after, carried_after, 0.0
        if not full:  # too few ticks for a window of its own
            windows[-2:] = merged(windows[-2:])
        if len(windows) > MOST_WINDOWS:
            windows, window_seconds = merged(windows), 2 * window_seconds
    print(json.dumps({"cores": os.cpu_count(), "windows": windows, "late_microseconds": late_microseconds}))


if __name__ == "__main__":
    main()
