"""The cost of a year of nightly checks in a history, and how often healthy networks seem to change.

    PYTHONPATH=. python -m benchmarks.history year FOLDER       1,000 hosts: size, time to add and to ask
    PYTHONPATH=. python -m benchmarks.history alarms [CLUSTERS] how many healthy clusters seem to change
    PYTHONPATH=. python -m benchmarks.history power             nights until a change is found; its date

The nights are made, not measured: rates with noise, and planted changes.
docs/reference/history.md has the figures.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import numpy as np

from crosscut.analysis.stats import change_points
from crosscut.analysis.stats.intervals import Floats
from crosscut.history import database, store
from crosscut.history.record import KeptFinding, KeptHost, KeptPair, RunRecord, RunSeries

FIRST = date(2025, 11, 1)
RATE = 1.17e9
SLOW_HOST = 417
# Days after the first on which something changes.
FIRMWARE, CABLE_BROKE, CABLE_SWAPPED, KERNEL = 131, 231, 252, 318


def correlated(
    rng: np.random.Generator, nights: int, series: int, rho: float, noise: str = "normal"
) -> Floats:
    """Returns [night, series] values of variance 1 whose successive nights correlate by rho."""
    shape = (nights + 50, series)
    if noise == "heavy tails":
        fresh = rng.standard_t(3, shape) / np.sqrt(3)
    elif noise == "bad nights":
        fresh = 1 - rng.exponential(1, shape)
    else:
        fresh = rng.standard_normal(shape)
    values = np.zeros_like(fresh)
    for night in range(1, len(values)):
        values[night] = rho * values[night - 1] + np.sqrt(1 - rho**2) * fresh[night]
    return np.asarray(values[50:])


def year(hosts: int, nights: int, racks: int) -> Iterator[RunRecord]:
    """Yields runs of a cluster: rack r02 gets firmware, a cable breaks and is swapped, all get a kernel."""
    rng = np.random.default_rng(2026)
    noise = 0.008 * correlated(rng, nights, 2 * hosts, 0.3) + 0.004 * correlated(rng, nights, 1, 0.3)
    rack = np.arange(hosts) * racks // hosts
    night = np.arange(nights)[:, None]
    logs = noise.reshape(nights, 2, hosts) + np.log(RATE)
    by_rack = np.where((rack == 2) & (np.arange(hosts) % 16 < 14) & (night >= FIRMWARE), np.log(0.92), 0)
    everywhere = np.where(night >= KERNEL, np.log(0.96), 0)
    logs += (by_rack + everywhere)[:, None, :]
    logs[CABLE_BROKE:CABLE_SWAPPED, 0, SLOW_HOST % hosts] += np.log(0.65)
    drained = rng.random((nights, hosts)) < 0.002
    pairs = [(a, b) for a in range(racks) for b in range(racks) if a != b]
    for at in range(nights):
        if at % 61 == 60:  # the cluster was down
            continue
        rates = np.exp(logs[at])
        day = FIRST + timedelta(at)
        adapter = "eth0 mlx5_core MTU 9000 10 Gbit/s"
        kernel = "kernel 6.1.0-41" if at >= KERNEL else "kernel 6.1.0-37"
        of_pairs = np.exp(rng.normal(np.log(RATE), 0.004, len(pairs)))
        broken = CABLE_BROKE <= at < CABLE_SWAPPED
        yield RunRecord(
            identity=f"{at:064x}", series=RunSeries("atlas", "hosts", "aapc", "", "tcp", 1_000_000),
            start=f"{day}T02:00:07Z", path=f"/srv/net/{day}.zarr", state="complete", crosscut="0.2.0",
            ranks=hosts, sent=round(float(np.median(rates[0]))), received=round(float(np.median(rates[1]))),
            hosts=tuple(
                KeptHost(f"n{host:04}", round(sent), round(received), f"{kernel}; {adapter}",
                         f"r{rack[host]:02}", f"leaf{rack[host]:02} {host % 32}", f"c{host:05}")
                for host, (sent, received) in enumerate(rates.T.tolist()) if not drained[at, host]
            ),
            pairs=tuple(KeptPair(f"r{a:02}", f"r{b:02}", round(rate))
                        for (a, b), rate in zip(pairs, of_pairs.tolist(), strict=True)),
            findings=(KeptFinding("slow host", True, f"n{SLOW_HOST:04} sends at 65 % of the usual rate",
                                  "out", 0.65, 0.01, (f"n{SLOW_HOST:04}",), ()),) if broken else (),
        )  # fmt: skip


def measure_year(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "year.db"
    file.unlink(missing_ok=True)
    runs = list(year(1000, 365, 32))
    seconds = []
    with database.writing(file) as connection:
        for run in runs:
            begun = time.process_time()
            store.add(connection, run)
            seconds.append(time.process_time() - begun)
    size = file.stat().st_size
    print(f"{len(runs)} runs, {size / 1e6:.1f} MB, {size / len(runs):,.0f} bytes a run")
    print(f"added in {np.median(seconds):.3f} s of processor time each (median; most {max(seconds):.3f} s)")
    for words in (
        "list", "trend --host n0417", "trend --cable c00417", "trend --groups r01 r02", "metrics", "changes",
        f"report --force -o {file}.html",
    ):  # fmt: skip
        action, *rest = words.split()
        command = [sys.executable, "-m", "crosscut", "history", action, str(file), *rest]
        times = []
        for _ in range(3):
            before = _children()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            times.append(_children() - before)
        print(f"history {words}: {min(times):.2f} s of processor time")


def _children() -> float:
    """Returns the processor time of the programs started so far: other programs do not disturb it."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def alarms(clusters: int) -> None:
    """Prints the share of healthy clusters in which anything seems to have changed, at the default 1 %."""
    rng = np.random.default_rng(1)
    print("nights  hosts  correlation  noise        clusters  with a change")
    for nights, hosts in ((30, 100), (90, 100), (365, 100), (90, 1)):
        for rho in (0.0, 0.3, 0.5, 0.7):
            for noise in ("normal", "heavy tails", "bad nights"):
                wrong = 0
                for _ in range(clusters):
                    logs = 0.01 * correlated(rng, nights, 2 * hosts, rho, noise)
                    logs += 0.005 * correlated(rng, nights, 1, rho)
                    relative = logs - np.median(logs, axis=1, keepdims=True)
                    tests = logs.shape[1] + 2
                    wrong += any(
                        change_points.steps(part, level=0.01, tests=tests)
                        for part in (relative if hosts > 1 else logs, np.median(logs, axis=1, keepdims=True))
                    )
                print(f"{nights:6}  {hosts:5}  {rho:11}  {noise:11}  {clusters:8}  {wrong}", flush=True)


def power(repeated: int = 20) -> None:
    """Prints how many nights one host's change needs among 1,000 hosts, and how well it is dated."""
    print("noise  drop  nights before  nights until found: median, most;  dates exact, in the range given")
    for noise in (0.005, 0.01, 0.02):
        for drop in (0.05, 0.08, 0.3):
            for before in (60, 180):
                needed, exact, inside = [], 0, 0
                for seed in range(repeated):
                    for after in range(change_points.FEWEST_ASIDE, 60):
                        logs = (
                            noise
                            * correlated(np.random.default_rng(seed), before + 60, 20, 0.3)[: before + after]
                        )
                        logs[before:, 0] += np.log(1 - drop)
                        found = [
                            one
                            for one in change_points.steps(logs, level=0.01, tests=4000)
                            if one.series == 0
                        ]
                        if found:
                            needed.append(after)
                            exact += found[0].at == before
                            inside += found[0].earliest <= before <= found[0].latest
                            break
                    else:
                        needed.append(60)
                print(f"{noise:5}  {drop:4}  {before:13}  {np.median(needed):.0f}, {max(needed)};  "
                      f"{exact}/{repeated}, {inside}/{repeated}", flush=True)  # fmt: skip


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["year", folder]:
            measure_year(Path(folder))
        case ["alarms", *count]:
            alarms(int(count[0]) if count else 200)
        case ["power"]:
            power()
        case _:
            raise SystemExit(__doc__)
