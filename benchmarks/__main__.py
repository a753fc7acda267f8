"""`python -m benchmarks`: the benchmarks of `make bench`; results also as JSON in build/benchmarks."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks import conducting, memory, report, scale, search, user_switch
from benchmarks.peers import __main__ as peers
from benchmarks.profile import __main__ as profile
from benchmarks.simulate import __main__ as simulate

RESULTS = Path(__file__).resolve().parents[1] / "build" / "benchmarks"


def main() -> int:
    status = 0
    for name, benchmark in (
        ("peers", peers), ("scale", scale), ("memory", memory), ("conducting", conducting),
        ("simulate", simulate), ("report", report), ("search", search), ("profile", profile),
        ("user_switch", user_switch),
    ):  # fmt: skip
        print(f"\n{name}", flush=True)
        status |= benchmark.main(["--out", str(RESULTS / f"{name}.json")])
    return status


if __name__ == "__main__":
    sys.exit(main())
