"""How well `crosscut place` predicts its gain: python -m benchmarks.placing --repeat 3.

Eight hosts on two leaves, with uplinks of a quarter of what the hosts can send. Every program runs there with
its ranks dealt to the leaves in turn, and is traced. From the trace of the run that took the median time,
`place` finds an order and predicts its gain. Then the program is measured in the best order that was tried,
whether `place` calls it a gain or not. Needs what labs need, MPICH, and METIS.
"""

from __future__ import annotations

import argparse
import dataclasses
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import conditions
from benchmarks.prediction import labs, truth
from benchmarks.processes import BenchmarkError
from crosscut.base import units
from crosscut.base.errors import CrosscutError
from crosscut.lab import lifecycle
from crosscut.ordering import placing
from crosscut.ordering.placing import Placement, PlacementRequest, Traced
from crosscut.ordering.reasons import ratio
from crosscut.places import smpi
from crosscut.prediction import predicting, source
from crosscut.prediction import trace as traces
from crosscut.prediction.stream_replay import MPICH_TCP
from crosscut.profile import program as profile

NETWORK = """[link]
rate = "{rate} Mbit/s"
[[hosts]]
names = "n[0-7]"
[[switches]]
names = "leaf[0-1]"
latency = "100 us"
[[switches]]
names = "root"
level = 1
latency = "100 us"
[[links]]
between = ["n[0-3]", "leaf0"]
[[links]]
between = ["n[4-7]", "leaf1"]
[[links]]
between = ["leaf[0-1]", "root"]
"""
IN_TURN = ("n0", "n4", "n1", "n5", "n2", "n6", "n3", "n7")
_AAPC = ("131072", "4")


@dataclass(frozen=True)
class Row:
    name: str
    before: tuple[float, ...]
    """Seconds of each run, from the end of MPI_Init to MPI_Finalize; mean over ranks."""
    after: tuple[float, ...]
    placed: Placement

    @property
    def measured(self) -> float:
        return statistics.median(self.after) / statistics.median(self.before)

    @property
    def predicted(self) -> float:
        assert self.placed.judged is not None
        return self.placed.judged.gain.ratio

    @property
    def error(self) -> float:
        return self.predicted / self.measured - 1


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.placing", description=__doc__)
    parser.add_argument("--programs", nargs="*", default=["cg", "lu", "aapc"])
    parser.add_argument("--class", dest="problem_class", default="W")
    parser.add_argument("--rate", type=int, default=20, help="Mbit/s of every link")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each program in each order")
    parser.add_argument("--json", type=Path, help="also write everything as JSON here")
    options = parser.parse_args()
    if (reason := lifecycle.unavailable()) is not None:
        print(f"benchmarks.placing: {reason}", file=sys.stderr)
        return 2
    try:
        with conditions.preferred(), tempfile.TemporaryDirectory(prefix="crosscut-placing-") as folder:
            return _compare(options, Path(folder))
    except (BenchmarkError, CrosscutError) as error:
        print(f"benchmarks.placing: {error}", file=sys.stderr)
        return 1


def _compare(options: argparse.Namespace, folder: Path) -> int:
    machine = conditions.describe()
    network = folder / "two-leaves.toml"
    network.write_text(NETWORK.format(rate=options.rate) + labs.PROTOCOL, encoding="utf-8")
    rows = [_row(options, name, network, folder) for name in options.programs]
    print(f"\n{conditions.sentence(machine)}\n\nclass {options.problem_class}, 8 ranks, 8 hosts, every link "
          f"at {options.rate} Mbit/s, {options.repeat} runs in each order\n")  # fmt: skip
    head = ("program", "in turn", "best order", "measured", "predicted", "error", "at random", "says")
    conditions.print_table(head, [_cells(row) for row in rows])
    conditions.write_json(
        options.json,
        {"machine": machine, "rate": options.rate, "rows": [_as_json(row) for row in rows]},
    )
    return 0


def _row(options: argparse.Namespace, name: str, network: Path, folder: Path) -> Row:
    program = _aapc(folder) if name == "aapc" else truth.workload(name, options.problem_class)
    runs = folder / "runs" / name
    before = _measured(options, program, IN_TURN, network, runs / "before")
    placed = _placed(truth.median(before).folder, network, runs)
    hosts = placed.hosts_in(placed.best)
    after = _measured(options, program, hosts, network, runs / "after")
    return Row(name, tuple(map(_seconds, before)), tuple(map(_seconds, after)), placed)


def _seconds(run: truth.Run) -> float:
    return run.communication_seconds + run.computing_seconds


def _aapc(folder: Path) -> truth.Program:
    beside = Path(sys.executable).parent
    target = folder / "aapc"
    source_file = Path(__file__).with_name("aapc.c")
    words = [beside / "mpicc_abi", "-O2", source_file, "-o", target, f"-Wl,-rpath,{beside.parent / 'lib'}"]
    subprocess.run([str(word) for word in words], check=True)
    return truth.Program("aapc", (str(target), *_AAPC), is_workload=False)


def _measured(
    options: argparse.Namespace, program: truth.Program, hosts: Sequence[str], network: Path, folder: Path
) -> list[truth.Run]:
    """Runs the program with rank r on hosts[r], in a lab of its own."""
    with truth.site(network, labs.SWITCH) as site:
        ordered = dataclasses.replace(site, hosts=tuple(hosts))
        return [
            truth.run(ordered, program, len(hosts), folder / str(number), trace=True)
            for number in range(options.repeat)
        ]


def _placed(traced: Path, network: Path, folder: Path) -> Placement:
    trace = traces.read(traced)
    files = folder / "replays"
    files.mkdir()
    # Known before anything is measured: the lab's queues lose nothing.
    transport = dataclasses.replace(MPICH_TCP, deep_queues=True)
    asked = predicting.PredictionRequest((str(network),), smpi.HOST_FLOPS, transport=transport)
    about = Traced(trace, source.find(trace, smpi.HOST_FLOPS), asked, str(network), files)
    return placing.place(PlacementRequest(str(network), profile.load(traced), about))


def _cells(row: Row) -> tuple[str, ...]:
    judged = row.placed.judged
    assert judged is not None
    random = statistics.median(judged.random_seconds) / judged.present_seconds
    return (
        row.name,
        units.seconds(statistics.median(row.before)),
        units.seconds(statistics.median(row.after)),
        f"{row.measured:.3f}",
        ratio(judged.gain),
        f"{100 * row.error:+.1f} %",
        f"{random:.3f}",
        "helps" if row.placed.helps else "no order helps",
    )


def _as_json(row: Row) -> dict[str, object]:
    return {
        "program": row.name,
        "before_seconds": row.before,
        "after_seconds": row.after,
        "measured": row.measured,
        "error": row.error,
        "judged": dataclasses.asdict(row.placed.judged) if row.placed.judged else None,
        "noise": dataclasses.asdict(row.placed.noise) if row.placed.noise else None,
        "present": row.placed.present.says,
        "hosts": row.placed.hosts_in(row.placed.best),
    }


if __name__ == "__main__":
    sys.exit(main())
