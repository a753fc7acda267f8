"""`python -m benchmarks.search`: how the cost of `crosscut locate` grows with the network, and its exponent.

Searches the first N hosts of a simulated fat tree without faults. Processor time is that of crosscut and of
the core, which simulates the search's phases. Bounds: 1,024 hosts in 20 s, 10,240 in 5 minutes and 4 GB. Any
fault found is a false alarm and fails the benchmark.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks.conditions import describe, print_table, sentence, write_json
from benchmarks.processes import BenchmarkError, used_by

NETWORK = "fat-tree-10240"
HOSTS = (128, 256, 512, 1024)
LIMIT_SECONDS = 1800.0
# By hosts: the most processor seconds and MB.
BOUNDS = {1024: (20.0, float("inf")), 10_240: (300.0, 4000.0)}
# Smaller searches mostly start Python and the core.
LEAST_FOR_EXPONENT = 256


@dataclass(frozen=True)
class Cost:
    hosts: int
    seconds: float
    processor_seconds: float
    memory_mb: float
    phases: int
    faults: int
    within_bounds: bool


def measure(network: str, hosts: int) -> Cost:
    words = ["locate", "--on", f"sim:{network}", "-n", str(hosts), "--json", "--quiet"]
    used = used_by([sys.executable, "-m", "crosscut", *words], LIMIT_SECONDS)
    found = json.loads(used.printed)
    faults = sum(finding["fault"] for finding in found["findings"])
    most_seconds, most_memory = BOUNDS.get(hosts, (float("inf"), float("inf")))
    within = faults == 0 and used.processor_seconds <= most_seconds and used.memory_mb <= most_memory
    return Cost(
        hosts,
        used.seconds,
        used.processor_seconds,
        used.memory_mb,
        found["structure"]["phases_used"],
        faults,
        within,
    )


def exponent(costs: list[Cost]) -> float | None:
    """Returns the exponent of processor time over hosts, by least squares of logarithms; None if too few."""
    large = [cost for cost in costs if cost.hosts >= LEAST_FOR_EXPONENT]
    if len(large) < 2:
        return None
    hosts, seconds = zip(*((cost.hosts, cost.processor_seconds) for cost in large), strict=True)
    return float(np.polyfit(np.log(hosts), np.log(seconds), 1)[0])


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.search", description=__doc__)
    parser.add_argument(
        "--network", default=NETWORK, help=f"a network from the catalogue, or a file ({NETWORK})"
    )
    parser.add_argument("--hosts", type=int, nargs="*", default=list(HOSTS), help="numbers of hosts")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write everything as JSON")
    args = parser.parse_args(words)
    machine = describe()
    print(sentence(machine), flush=True)
    costs: list[Cost] = []
    try:
        for hosts in args.hosts:
            costs.append(measure(args.network, hosts))
            print(f"{hosts} hosts: {costs[-1].processor_seconds:.1f} s of processor time", flush=True)
    except BenchmarkError as error:
        print(f"benchmarks.search: {error}", file=sys.stderr)
        return 1
    finally:
        head = ("hosts", "s", "processor s", "MB", "phases", "faults", "within bounds")
        print_table(head, [_row(cost) for cost in costs])
        grows = exponent(costs)
        if grows is not None:
            print(f"processor time grows as hosts to the power of {grows:.2f}")
        write_json(args.out, {"machine": machine, "exponent": grows, "costs": [*map(asdict, costs)]})
    return 0 if all(cost.within_bounds for cost in costs) else 1


def _row(cost: Cost) -> tuple[str, ...]:
    return (
        *(str(cost.hosts), f"{cost.seconds:.1f}", f"{cost.processor_seconds:.1f}", f"{cost.memory_mb:.0f}"),
        *(str(cost.phases), str(cost.faults), "yes" if cost.within_bounds else "NO"),
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
