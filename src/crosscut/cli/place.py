"""`crosscut place`: an order of ranks that puts those that talk much near each other."""

from __future__ import annotations

import argparse
import shlex
import tempfile
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from crosscut.base import units, whole_file
from crosscut.base.errors import EXIT_OK, UsageError
from crosscut.base.host_list import MOST_SLOTS
from crosscut.cli.parsing import programs, replaying
from crosscut.cli.parsing.parser import flag, option, tell, whole
from crosscut.ordering.forms import FORMS

if TYPE_CHECKING:
    from crosscut.ordering.placing import Placement, Traced
    from crosscut.reports.terminal.screen import Screen

EPILOG = """
examples:
  crosscut profile --trace --network now.toml --out cg.profile -- mpiexec -n 16 ./cg
  crosscut place cg.profile --on now.toml -o hosts            the order, if one helps, for mpiexec -f hosts
  crosscut place cg.profile --on found.toml --present hosts   against the order in this host file
  crosscut place cg.profile --on aapc.zarr --form slurm -o hosts

More in docs/howto-place.md. It needs METIS: pip install 'crosscut[place]'.
"""


_MOST_TRIES, _MOST_SEED = 100, 10**9


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "profile", type=Path, metavar="PROFILE",
        help="Folder that `crosscut profile --trace` wrote, or a trace.txt. Without a trace, bytes are "
        "counted and no time is predicted.",
    )  # fmt: skip
    option(parser, "--on NETWORK", str,
           "Description (TOML, also by `crosscut locate -o`), a name from `crosscut network list`, or a run, "
           "whose network counts.", required=True)  # fmt: skip
    option(parser, "--present FILE", Path,
           "Host file with the ranks' present hosts, rank 0 first. Default: the hosts on which the program "
           "was profiled, if the network has them; else blocks.")  # fmt: skip
    option(parser, "--ranks-per-host N", whole(1, MOST_SLOTS),
           "Places on each host. Default: as the network and the present order say.", default=0)  # fmt: skip
    option(parser, "--tries N", whole(1, _MOST_TRIES),
           "How often to partition the ranks for each kind of cost, each time from another seed; the best "
           "result counts. Default %(default)d.",
           default=3)  # fmt: skip
    option(parser, "--seed N", whole(0, _MOST_SEED),
           "Seed of random orders and of noise. Default %(default)d.", default=1)  # fmt: skip
    group = parser.add_argument_group("replay")
    replaying.add_flops(group)
    replaying.add_model(group)
    replaying.add_limits(group)
    group = parser.add_argument_group("output")
    says = "; ".join(f"{name}: {form.says}" for name, form in FORMS.items())
    group.add_argument("--form", choices=tuple(FORMS), default="hostfile", help=f"Form of the order. {says}.")
    option(group, "-o --out FILE", Path,
           "Write the order: the best one if it helps, else the present one.")  # fmt: skip
    flag(group, "--json", "Print one JSON object on standard output.")


def execute(args: argparse.Namespace) -> int:
    # numpy and scipy are imported only now (tests/unit/test_start.py).
    from crosscut.ordering import network_of, partition, placing, report
    from crosscut.profile import program, tit

    if args.out is not None:
        whole_file.need_place("-o", args.out)
        if args.out.is_dir():
            raise UsageError(f"-o {args.out}: is a folder; name a file")
    partition.metis()
    folder = args.profile if args.profile.is_dir() else args.profile.parent
    has_trace = not args.profile.is_dir() or (folder / tit.LIST).exists()
    profile = program.load(folder) if not has_trace or any(folder.glob("rank-*.profile")) else None
    made: AbstractContextManager[str] = (
        tempfile.TemporaryDirectory(prefix="crosscut-place-") if has_trace else nullcontext("")
    )
    with network_of.opened(args.on) as network, made as files:
        traced = _traced(args, network, Path(files)) if has_trace else None
        asked = placing.PlacementRequest(
            network, profile, traced, args.present, args.ranks_per_host, args.tries, args.seed
        )
        try:
            placed = placing.place(
                asked, lambda what: programs.tell_progress(args, f"replaying {what}"[:100])
            )
        finally:
            programs.tell_progress(args, "")
    ended = program.ended(profile) if profile is not None else ()
    lacks = traced.made.lacks if traced is not None else "; ".join(ended)
    if args.out is not None:
        whole_file.write_output(args.out, FORMS[args.form].text(placed.hosts).encode())

    def render(screen: Screen) -> None:
        report.tell(screen, folder.resolve().name, placed, lacks)
        if args.out is not None:
            _tell_written(screen, args, placed)

    tell(args, lambda: report.as_json(placed, lacks), render)
    return EXIT_OK


def _traced(args: argparse.Namespace, network: str, folder: Path) -> Traced:
    from crosscut.ordering.placing import Traced
    from crosscut.prediction import predicting, source
    from crosscut.prediction import trace as traces

    trace = traces.read(args.profile)
    made = source.find(trace, args.flops)
    asked = predicting.PredictionRequest(
        (network,), made.operations_per_second,
        transport=replaying.transport(args), limits=replaying.limits(args),
    )  # fmt: skip
    return Traced(trace, made, asked, replaying.home(args, trace, made), folder)


def _tell_written(screen: Screen, args: argparse.Namespace, placed: Placement) -> None:
    which = "this order" if placed.helps else "the present order"
    words = FORMS[args.form].command.format(file=shlex.quote(str(args.out)), ranks=len(placed.hosts))
    screen.line(f"written: {args.out}, {which} of {units.count(len(placed.hosts), 'rank')}; use it with")
    screen.command(f"  {words}")
