"""Made records of nightly runs."""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np

from crosscut.history.record import KeptFinding, KeptHost, KeptPair, RunRecord, RunSeries

FIRST = date(2026, 1, 1)
NIGHTLY = RunSeries("atlas", "hosts", "aapc", "", "tcp", 1_000_000)


def night(
    at: int, rates: dict[str, float], *, findings: tuple[KeptFinding, ...] = (), **more: object
) -> RunRecord:
    """The run of night `at`: hosts of two racks, by their names' last digits, at these rates both ways."""
    hosts = tuple(
        KeptHost(name, round(rate), round(rate), str(more.get("setup", "kernel 6.1")),
                 f"r{int(name[1:]) // 8}", f"leaf{int(name[1:]) // 8} {int(name[1:]) % 8}", f"c{name}")
        for name, rate in rates.items()
    )  # fmt: skip
    middle = round(float(np.median([*rates.values()])))
    return RunRecord(
        f"run {at}", NIGHTLY, f"{FIRST + timedelta(at)}T02:00:00Z", f"/srv/{at}.zarr",
        str(more.get("state", "complete")), "0.2.0", len(hosts), middle, middle, hosts,
        (KeptPair("r0", "r1", middle), KeptPair("r1", "r0", middle // 2)), findings,
    )  # fmt: skip


def slow(host: str, share: float = 0.4) -> KeptFinding:
    return KeptFinding("slow host", True, f"{host} sends at {share:.0%}", "out", share, 0.01, (host,), ())


def noisy(nights: int, hosts: int = 16, noise: float = 0.01, seed: int = 1) -> list[dict[str, float]]:
    """[night] rates by host, with independent noise."""
    logs = np.log(1e9) + noise * np.random.default_rng(seed).standard_normal((nights, hosts))
    return [{f"n{host:04}": float(rate) for host, rate in enumerate(row)} for row in np.exp(logs)]
