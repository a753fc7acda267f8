"""How well `crosscut predict` predicts: python -m benchmarks.prediction --class W --repeat 5.

Every program is traced in one emulated cluster, predicted from that trace for others, and measured there.
Nothing is fitted to the others. Four figures come from the first cluster. The processors' work for a message
is the time of MPI_Send, and of MPI_Recv of a message that has arrived (message_cost.c). The rest of half a
round trip, less the network's share, is the delay until a sleeping receiver's library sees the message. The
fourth figure is noise, from the traced run. Needs what labs need, and MPICH.
"""

from __future__ import annotations

import argparse
import dataclasses
import shlex
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks import conditions
from benchmarks.prediction import comparing, labs, truth
from benchmarks.prediction.comparing import Assumed, Row
from benchmarks.prediction.labs import Lab
from benchmarks.processes import BenchmarkError
from crosscut.base import units
from crosscut.base.errors import CrosscutError
from crosscut.lab import lifecycle
from crosscut.places import smpi
from crosscut.places.lab import SessionLab
from crosscut.prediction import predicting
from crosscut.prediction.stream_replay import MPICH_TCP
from crosscut.workloads import applications

# What `truth.message_cost` sends for each message, on the wire, with the headers of labs.PROTOCOL.
COST_BYTES = 8 + MPICH_TCP.header_bytes + 52 + 38
HOME_BYTES_PER_SECOND = 50e6 / 8


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.prediction", description=__doc__)
    parser.add_argument("--class", dest="problem_class", choices=applications.CLASSES, default="W")
    parser.add_argument("--workloads", nargs="*", default=["is", "cg", "mg", "ft", "lu"])
    parser.add_argument(
        "--program",
        action="append",
        default=[],
        type=_program,
        metavar="NAME=COMMAND",
        help="an MPI program of somebody else, with its arguments, besides the workloads",
    )
    parser.add_argument("--ranks", type=int, default=4, help="ranks, one per host: 4 or 8")
    parser.add_argument("--repeat", type=int, default=5, help="runs of each workload in each cluster")
    parser.add_argument("--switch", default=labs.SWITCH, help="kernel (no latencies), or %(default)s")
    parser.add_argument("--other-networks", action="store_true", help="those that served for no rule")
    parser.add_argument("--engine", choices=predicting.ENGINES, default=predicting.OWN)
    parser.add_argument("--option", action="append", default=[], help="NAME:VALUE, for SimGrid, in all labs")
    parser.add_argument("--json", type=Path, help="also write everything as JSON here")
    options = parser.parse_args()
    reason = lifecycle.unavailable()
    if reason is None and options.engine == predicting.SMPI:
        reason = smpi.unavailable()
    if reason is None and options.option and options.engine != predicting.SMPI:
        reason = "--option needs --engine smpi"
    if reason is None and (options.ranks < 2 or options.ranks % 2 or options.repeat < 1):
        reason = "--ranks must be even, --repeat at least 1"
    if reason is None and options.other_networks and options.switch == "kernel":
        reason = "--other-networks have latencies, which --switch kernel cannot make"
    if reason is not None:
        print(f"benchmarks.prediction: {reason}", file=sys.stderr)
        return 2
    try:
        with conditions.preferred(), tempfile.TemporaryDirectory(prefix="crosscut-prediction-") as folder:
            return _compare(options, Path(folder))
    except (BenchmarkError, CrosscutError) as error:
        print(f"benchmarks.prediction: {error}", file=sys.stderr)
        return 1


def _program(text: str) -> truth.Program:
    name, _, words = text.partition("=")
    return truth.Program(name, tuple(shlex.split(words)), is_workload=False)


def _compare(options: argparse.Namespace, folder: Path) -> int:
    machine = conditions.describe()
    own = [truth.workload(name, options.problem_class) for name in options.workloads]
    chosen = [*own, *options.program]
    delays = options.switch != "kernel"
    home = labs.home(options.ranks, delays=delays)
    away = labs.others(options.ranks) if options.other_networks else labs.away(options.ranks, delays=delays)
    places = (home, *away)
    with truth.site(home.write(folder), options.switch) as site:
        cost = truth.message_cost(site, folder)
        measured = {home.name: _measured(options, site, home, chosen, folder, trace=True)}
    travelled = home.latency_seconds + COST_BYTES / HOME_BYTES_PER_SECOND
    delay = max(0.0, cost.one_way_seconds - cost.send_seconds - cost.receive_seconds - travelled)
    hosts = labs.Hosts(cost.send_seconds, cost.receive_seconds, delay)
    for lab in places[1:]:
        with truth.site(lab.write(folder), options.switch) as site:
            measured[lab.name] = _measured(options, site, lab, chosen, folder, trace=False)
    # Known before anything is measured: crosscut-switch's queues hold 8 MiB here and lose nothing; the
    # kernel's hold 50 ms and lose frames.
    transport = dataclasses.replace(MPICH_TCP, deep_queues=delays)
    assumed = Assumed(options.engine, transport, hosts, tuple(options.option))
    rows = []
    for one in chosen:
        traced = [comparing.predicted(run, places, assumed) for run in measured[home.name][one.name]]
        for lab, found in zip(places, zip(*traced, strict=True), strict=True):
            rows.append(comparing.row(one.name, lab, home, found, measured[lab.name][one.name]))
    print(f"\n{conditions.sentence(machine)}\n")
    print(f"class {options.problem_class}, {options.ranks} ranks, one per host, {options.repeat} runs each; "
          f"measured at home: processors work {units.seconds(hosts.send_seconds)} to send a message, "
          f"{units.seconds(hosts.receive_seconds)} to receive it; receivers see it "
          f"{units.seconds(delay)} late\n")  # fmt: skip
    _tell(rows, places)
    conditions.write_json(options.json, _as_json(machine, options, assumed, rows))
    return 0


def _measured(
    options: argparse.Namespace,
    site: SessionLab,
    lab: Lab,
    chosen: Sequence[truth.Program],
    folder: Path,
    *,
    trace: bool,
) -> dict[str, list[truth.Run]]:
    """Returns the runs by workload. Workloads take turns, so a disturbance does not hit all runs of one."""
    found: dict[str, list[truth.Run]] = {one.name: [] for one in chosen}
    for number in range(options.repeat):
        for one in chosen:
            where = folder / lab.name / f"{one.name}-{number}"
            found[one.name].append(truth.run(site, one, options.ranks, where, trace=trace))
            print(
                f"\r\033[K{lab.name}: {one.name}, run {number + 1} of {options.repeat}",
                end="",
                file=sys.stderr,
            )
    print("\r\033[K", end="", file=sys.stderr, flush=True)
    return found


def _tell(rows: Sequence[Row], places: Sequence[Lab]) -> None:
    for lab in places:
        print(f"- {lab.name}: {lab.says}" + (", where it was traced" if lab is places[0] else ""))
    print()
    head = ("workload", "network", "predicted", "measured", "spread", "error", "latency", "bandwidth",
            "contention", "waiting", "noise")  # fmt: skip
    table = [
        (
            row.workload,
            row.lab.name,
            units.seconds(row.predicted_seconds),
            units.seconds(row.measured_seconds),
            f"{100 * row.spread:.1f} %",
            f"{100 * row.error:+.1f} %" + (" (traced here)" if row.traced_here else ""),
            *(f"{100 * row.parts[name] / row.waited_seconds:.0f} %" for name in head[6:-1]),
            units.seconds(row.noise_seconds),
        )
        for row in rows
    ]
    conditions.print_table(head, table)
    mean, worst = comparing.summary(rows)
    print(f"\nerror of the communication time, where not traced: {100 * mean:.1f} % on average, "
          f"{100 * worst:.1f} % at most (aim: 7 % and 15 %)")  # fmt: skip


def _as_json(
    machine: dict[str, object],
    options: argparse.Namespace,
    assumed: Assumed,
    rows: Sequence[Row],
) -> dict[str, object]:
    mean, worst = comparing.summary(rows)
    return {
        "machine": machine,
        "class": options.problem_class,
        "ranks": options.ranks,
        "repeat": options.repeat,
        "switch": options.switch,
        "assumed": dataclasses.asdict(assumed),
        "mean_error": mean,
        "worst_error": worst,
        "rows": [dataclasses.asdict(row) | {"error": row.error} for row in rows],
    }


if __name__ == "__main__":
    sys.exit(main())
