"""`python -m benchmarks.profile`: how much time `crosscut profile` adds to an MPI call.

The same program runs alternately with and without the profiler, one rank on one core, so that the calls
themselves take as little time as possible. Aim: below 100 ns per call.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from benchmarks.conditions import describe, preferred, print_table, sentence, write_json
from benchmarks.processes import BenchmarkError
from crosscut.base.errors import CrosscutError
from crosscut.profile import profiler

SOURCE = Path(__file__).with_name("call_cost.c")
BESIDE = Path(sys.executable).parent
AIM_NANOSECONDS = 100.0
LIMIT_SECONDS = 120
Costs = Mapping[str, float]


def compiled(folder: Path) -> Path:
    target = folder / "call_cost"
    compiler = BESIDE / "mpicc_abi"
    if not compiler.exists():
        raise BenchmarkError(f"there is no {compiler}: pip install 'mpich>=5'")
    words: list[str | Path] = [compiler, "-O2", SOURCE, "-o", target, f"-Wl,-rpath,{BESIDE.parent / 'lib'}"]
    subprocess.run(words, check=True)
    return target


def once(program: Path, words: tuple[str, ...], variables: Mapping[str, str]) -> dict[str, float]:
    command: list[str | Path] = ["taskset", "--cpu-list", str(min(os.sched_getaffinity(0))), program, *words]
    done = subprocess.run(
        command, env=dict(variables), capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False
    )
    if done.returncode != 0:
        raise BenchmarkError(
            f"{program.name} failed (status {done.returncode}): {done.stderr.strip()[-400:]}"
        )
    return {name: float(value) for name, value in (line.split("\t") for line in done.stdout.splitlines())}


def pairs(
    program: Path, words: tuple[str, ...], count: int, *, trace: bool
) -> tuple[list[Costs], list[Costs]]:
    library = profiler.find_library()
    bare: list[Costs] = []
    under: list[Costs] = []
    for _ in range(count):
        bare.append(once(program, words, os.environ))
        with tempfile.TemporaryDirectory() as folder:
            variables = profiler.environment(library, Path(folder), trace=trace)
            under.append(once(program, words, variables))
    return bare, under


def compare(program: Path, count: int) -> list[dict[str, object]]:
    results: list[dict[str, object]] = []
    for how, words, trace in (
        ("one thread", (), False), ("threads", ("threads",), False), ("--trace", (), True),
    ):  # fmt: skip
        bare, under = pairs(program, words, count, trace=trace)
        for name in bare[0]:
            added = [after[name] - before[name] for before, after in zip(bare, under, strict=True)]
            results.append({
                "how": how,
                "call": name,
                "bare_nanoseconds": statistics.median(one[name] for one in bare),
                "added_nanoseconds": statistics.median(added),
                "added_from": min(added),
                "added_to": max(added),
            })  # fmt: skip
    return results


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.profile")
    parser.add_argument(
        "--pairs", type=int, default=7, help="runs with and without the profiler (%(default)s each)"
    )
    parser.add_argument("--out", type=Path, help="write the results as JSON")
    args = parser.parse_args(argv)
    machine = describe()
    print(sentence(machine), flush=True)
    try:
        with tempfile.TemporaryDirectory() as folder, preferred():
            results = compare(compiled(Path(folder)), args.pairs)
    except (BenchmarkError, CrosscutError) as error:
        print(f"benchmarks.profile: {error}", file=sys.stderr)
        return 1
    rows = [
        (str(one["how"]), str(one["call"]), f"{one['bare_nanoseconds']:.1f}",
         f"{one['added_nanoseconds']:.1f}", f"{one['added_from']:.1f} to {one['added_to']:.1f}")
        for one in results
    ]  # fmt: skip
    print_table(("counting", "call", "bare, ns", "added, ns", "of the pairs"), rows)
    write_json(args.out, {"machine": machine, "results": results})
    plain = [float(str(one["added_nanoseconds"])) for one in results if one["how"] != "--trace"]
    reached = max(plain) < AIM_NANOSECONDS
    print(f"at most {max(plain):.1f} ns per call without a trace; aim below {AIM_NANOSECONDS:.0f}: "
          f"{'reached' if reached else 'MISSED'}")  # fmt: skip
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
