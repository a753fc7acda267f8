"""The conditions of a benchmark: printed with its figures, and the same for everything that it compares."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

# The kernel's highest priority: other programs then take a few per cent of a core, not half.
PREFERRED = -20


def describe() -> dict[str, object]:
    """Returns the machine's properties, and its load now."""
    models = set(re.findall(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE))
    congestion = Path("/proc/sys/net/ipv4/tcp_congestion_control")
    return {
        "date": time.strftime("%Y-%m-%d %H:%M:%S %z"),
        "processor": ", ".join(sorted(models)) or platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        "kernel": platform.release(),
        "virtual": "hypervisor" in Path("/proc/cpuinfo").read_text(),
        "congestion_control": congestion.read_text().strip() if congestion.exists() else "",
        "load_average": os.getloadavg()[0],
    }


def sentence(machine: Mapping[str, object]) -> str:
    kind = "virtual machine" if machine["virtual"] else "machine"
    memory = machine["memory_bytes"]
    assert isinstance(memory, int)
    return (
        f"{machine['cores']}-core {kind}, {machine['processor']}, {memory / 2**30:.0f} GiB, Linux "
        f"{machine['kernel']}, TCP {machine['congestion_control']}, "
        f"load average {machine['load_average']:.1f}"
    )


@contextlib.contextmanager
def preferred() -> Iterator[None]:
    """Gives this session's processes priority over others', if permitted. Both sides of a comparison profit.

    With sched_autogroup the kernel weighs sessions (setsid) against each other, and nice levels only within a
    session.
    """
    group = Path("/proc/self/autogroup")
    before = re.search(r"nice (-?\d+)", group.read_text()) if group.exists() else None
    if before is None:
        yield
        return
    try:
        group.write_text(str(PREFERRED))
    except OSError:  # not root
        yield
        return
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            group.write_text(before[1])


def write_json(path: Path | None, value: Mapping[str, object]) -> None:
    if path is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
    print(f"wrote {path}", flush=True)


def print_table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    """Prints an aligned Markdown table, to be copied into docs/reference/benchmarks.md."""
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]

    def line(row: tuple[str, ...]) -> str:
        return "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"

    print("\n".join([line(head), line(tuple("-" * width for width in widths)), *map(line, rows)]), flush=True)
