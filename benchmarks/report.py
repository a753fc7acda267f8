"""`python -m benchmarks.report`: time, memory and page size of `crosscut report` for very many routes.

The runs are simulated all-to-alls with 3 % noise added to each sample: equal samples would make a page that
compresses like no measured one. Bounds: 1,024 ranks in 10 s, 4,096 in 15 s, both in 1 GB and
with a page of 10 MB.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks.conditions import describe, print_table, sentence, write_json
from benchmarks.processes import BenchmarkError, used_by

NETWORK, SPREAD = "fat-tree-10240", 0.03
BLOCK = 1 << 22
LIMIT_SECONDS = 900


@dataclass(frozen=True)
class Case:
    ranks: int
    sizes: str
    repetitions: int
    most_seconds: float
    most_memory_mb: float
    most_page_mb: float


CASES = (
    Case(1024, "100KB,1MB,10MB", 6, 10, 1000, 10),
    Case(4096, "1MB", 2, 15, 1000, 10),
)


@dataclass(frozen=True)
class Cost:
    ranks: int
    routes: int
    samples: int
    seconds: float
    memory_mb: float
    page_mb: float
    within_bounds: bool


def crosscut(*words: str) -> list[str]:
    return [sys.executable, "-m", "crosscut", *words]


def make(case: Case, run: Path) -> None:
    words = ["run", "aapc", "--on", f"sim:{NETWORK}", "-n", str(case.ranks), "--size", case.sizes]
    words += ["--repetitions", str(case.repetitions), "--quiet", "--out", str(run)]
    done = subprocess.run(
        crosscut(*words), capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False
    )
    if done.returncode != 0:
        raise BenchmarkError(f"the run of {case.ranks} ranks failed: {done.stderr.strip()[-300:]}")
    random = np.random.default_rng(1)
    for name in ("message_seconds", "rank_seconds"):
        for shard in (path for path in sorted((run / name / "c").rglob("*")) if path.is_file()):
            spread(shard, random)
    without_checksums(run)


def spread(shard: Path, random: np.random.Generator) -> None:
    """Adds noise in place. The first entry of a shard's index says where its samples begin; only samples
    follow (docs/reference/run-format.md)."""
    begins = int(np.fromfile(shard, dtype="<u8", count=1)[0])
    samples = np.memmap(shard, dtype="<f8", mode="r+", offset=begins)
    for first in range(0, len(samples), BLOCK):
        part = samples[first : first + BLOCK]
        part *= random.normal(1, SPREAD, len(part))
    samples.flush()


def without_checksums(run: Path) -> None:
    """Makes the run one of schema version 2: the checksums are of the samples without noise."""
    file = run / "zarr.json"
    document = json.loads(file.read_text(encoding="utf-8"))
    document["attributes"]["schema"]["version"] = 2
    document["consolidated_metadata"]["metadata"].pop("checksum", None)
    file.write_text(json.dumps(document), encoding="utf-8")
    shutil.rmtree(run / "checksum")


def measure(case: Case, folder: Path) -> Cost:
    run, page = folder / f"{case.ranks}.zarr", folder / f"{case.ranks}.html"
    make(case, run)
    used = used_by(crosscut("report", str(run), "-o", str(page)), LIMIT_SECONDS)
    seconds, memory, size = used.seconds, used.memory_mb, page.stat().st_size / 1e6
    within = seconds <= case.most_seconds and memory <= case.most_memory_mb and size <= case.most_page_mb
    routes = case.ranks * (case.ranks - 1)
    samples = routes * case.repetitions * len(case.sizes.split(","))
    return Cost(case.ranks, routes, samples, seconds, memory, size, within)


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.report", description=__doc__)
    parser.add_argument("--ranks", type=int, nargs="*", help="numbers of ranks (1024 4096)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write everything as JSON")
    args = parser.parse_args(words)
    machine = describe()
    print(sentence(machine), flush=True)
    costs: list[Cost] = []
    try:
        for case in CASES:
            if args.ranks and case.ranks not in args.ranks:
                continue
            with tempfile.TemporaryDirectory(prefix="crosscut-report-") as folder:
                costs.append(measure(case, Path(folder)))
    except (BenchmarkError, subprocess.TimeoutExpired) as error:
        print(f"benchmarks.report: {error}", file=sys.stderr)
        return 1
    finally:
        head = ("ranks", "routes", "samples", "s", "MB", "page MB", "within bounds")
        print_table(head, [_row(cost) for cost in costs])
        write_json(args.out, {"machine": machine, "costs": [asdict(cost) for cost in costs]})
    return 0 if all(cost.within_bounds for cost in costs) else 1


def _row(cost: Cost) -> tuple[str, ...]:
    return (
        *(str(cost.ranks), f"{cost.routes:,}", f"{cost.samples:,}", f"{cost.seconds:.1f}"),
        *(f"{cost.memory_mb:.0f}", f"{cost.page_mb:.2f}", "yes" if cost.within_bounds else "NO"),
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
