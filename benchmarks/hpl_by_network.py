"""HPL on Xibalba's networks, simulated (Kurmann, Rauch, Stricker, TR 391, section 7.2).

    python -m benchmarks.hpl_by_network --hpl FOLDER/xhpl

`xhpl` is HPL 2.3 (netlib.org/benchmark/hpl), built with smpicc and a BLAS of one thread. SMPI runs it on each
network: its ranks compute here, one after another. Their computing time is multiplied by one factor, chosen
so that 16 nodes of the ER16 reach 341 MFlop/s a processor, which follows from the paper's prices. This one
number is fitted; the other rows are predictions. Every node has 50 MByte of the matrix, as in the paper. It
prints neither block size nor grid, nor which ranks are neighbours: ours are blocks of 80, grids as square as
possible, an increasing ring, ranks row by row. The networks' files give no latency.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
import tempfile
from pathlib import Path

from benchmarks.processes import BenchmarkError, crosscut, exit_when_terminated

NODES = (16, 24, 32, 64)
GRIDS = {16: (4, 4), 24: (4, 6), 32: (4, 8), 64: (8, 8)}
NETWORKS = ("xibalba-er16", "xibalba-e7-config1", "xibalba-maintenance", "xibalba-myrinet-shared")
BYTES_OF_NODE = 50e6
FITTED = ("xibalba-er16", 16, 341e6)
IMPLIED = {
    "xibalba-er16": dict.fromkeys(NODES, 341.0),
    "xibalba-e7-config1": dict.fromkeys(NODES, 300.0),
    "xibalba-maintenance": {16: 290.0, 64: 193.0},
    "xibalba-myrinet-shared": {64: 500.0},
}
"""MFlop/s a processor, from section 7.2's prices of a MFlop/s and of a port."""
LIMIT_SECONDS = 3600
_RESULT = re.compile(r"^W\S+\s+(\d+)\s+\d+\s+\d+\s+\d+\s+(\S+)\s+\S+\s*$", re.MULTILINE)


def order_of(nodes: int) -> int:
    """Returns the number of equations whose matrix takes BYTES_OF_NODE on each node."""
    return math.isqrt(int(BYTES_OF_NODE * nodes / 8))


def flops(nodes: int) -> float:
    order = order_of(nodes)
    return 2 / 3 * order**3 + 3 / 2 * order**2


def settings(nodes: int) -> str:
    rows, columns = GRIDS[nodes]
    values = (
        f"1 {order_of(nodes)} 1 80 0 1 {rows} {columns} 16.0 1 2 1 4 1 2 1 1 1 0 1 1 2 64 0 0 1 8".split()
    )
    return "\n".join(["HPL", "by benchmarks.hpl_by_network", "HPL.out", "6", *values]) + "\n"


def seconds(hpl: Path, network: str, nodes: int, slower: float) -> float:
    """Returns HPL's own time. Raises BenchmarkError unless its result is right."""
    with tempfile.TemporaryDirectory(prefix="crosscut-hpl-") as folder:
        (Path(folder) / "HPL.dat").write_text(settings(nodes))
        words = ["simulate", network, "-n", str(nodes), "--compute", f"{slower:g}", "--", str(hpl)]
        printed = crosscut(words, LIMIT_SECONDS, Path(folder))
    found = _RESULT.search(printed)
    if found is None or "PASSED" not in printed:
        raise BenchmarkError(f"{network}, {nodes} nodes: HPL gave no right result: {printed[-400:]}")
    return float(found[2])


def fitted_slowness(hpl: Path) -> float:
    """Returns how many times slower than here a processor computes: two runs, and a line through them."""
    network, nodes, rate = FITTED
    wanted = flops(nodes) / (nodes * rate)
    low, high = 30.0, 60.0
    at_low, at_high = (seconds(hpl, network, nodes, slower) for slower in (low, high))
    return low + (wanted - at_low) * (high - low) / (at_high - at_low)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--hpl", type=Path, required=True)
    parser.add_argument("--nodes", type=int, nargs="+", choices=NODES, default=NODES)
    parser.add_argument("--slower", type=float, help="as fitted by another call; default: fit it")
    parser.add_argument("--out", type=Path, help="also keep the rates as JSON")
    asked = parser.parse_args()
    exit_when_terminated()
    try:
        _measure(asked)
    except BenchmarkError as error:
        print(f"benchmarks.hpl_by_network: {error}", file=sys.stderr)
        return 1
    return 0


def _measure(asked: argparse.Namespace) -> None:
    hpl = asked.hpl.resolve()
    slower = asked.slower or fitted_slowness(hpl)
    print(
        f"computing {slower:.1f} times as long as here, fitted to {FITTED[1]} nodes of the ER16", flush=True
    )
    print(
        "| network | nodes | N | MFlop/s a processor | from the paper's prices |\n"
        "| --- | ---: | ---: | ---: | ---: |"
    )
    rates = []
    for nodes in asked.nodes:
        for network in NETWORKS:
            rate = flops(nodes) / seconds(hpl, network, nodes, slower) / nodes / 1e6
            implied = IMPLIED[network].get(nodes)
            rates.append({"network": network, "nodes": nodes, "mflops": rate, "implied": implied})
            said = f"{implied:.0f}" if implied else ""
            print(f"| `{network}` | {nodes} | {order_of(nodes):,} | {rate:.0f} | {said} |", flush=True)
    if asked.out:
        asked.out.write_text(json.dumps({"slower": slower, "rates": rates}, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
