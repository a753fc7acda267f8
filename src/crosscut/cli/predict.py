"""`crosscut predict`: how long a traced program would take on described networks."""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

from crosscut.base import whole_file
from crosscut.base.errors import EXIT_OK, CrosscutError, UsageError
from crosscut.cli.parsing import programs, replaying
from crosscut.cli.parsing.parser import flag, number, option, record, whole
from crosscut.places import smpi, smpi_options
from crosscut.prediction import calibrating, picture, predicting, source, variants
from crosscut.prediction import report as telling
from crosscut.prediction import trace as traces
from crosscut.reports import charts

EPILOG = """
examples:
  crosscut profile --trace --network now.toml --out cg.profile -- mpiexec -n 16 ./cg
  crosscut predict cg.profile --on now.toml candidate-a.toml candidate-b.toml
  crosscut predict cg.profile --on now.toml --what-if latency=0.5 --what-if bandwidth=2
  crosscut predict cg.profile --on fat-tree-1024 --compute-scale 0.5     processors twice as fast
  crosscut predict cg.profile --on a.toml b.toml -o parts.svg

More in docs/howto-predict.md. --engine smpi needs SimGrid (apt install libsimgrid-dev).
"""
_scale = number(
    lambda value: value == 0 or 1e-6 <= value <= 1e6,
    "'{}' is not a factor; write 0.5 for processors twice as fast, or 0 for no computing",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "trace",
        type=Path,
        metavar="TRACE",
        help="Folder that `crosscut profile --trace` wrote, or a trace.txt.",
    )
    parser.add_argument(
        "--on", nargs="+", required=True, metavar="NETWORK",
        help="Description (TOML), or a name from `crosscut network list`. Others are compared with the "
        "first.",
    )  # fmt: skip
    option(parser, "--compute-scale FACTOR", _scale,
           "Multiply the traced times of computing by this; 0.5 for processors twice as fast. Default "
           "%(default)g.",
           default=1.0)  # fmt: skip
    replaying.add_flops(parser)
    option(parser, "--what-if CHANGE", variants.parse,
           "Also predict the time with latency, bandwidth, overhead or compute multiplied: "
           "latency=0.5,bandwidth=2. May be repeated.", action="append", default=[])  # fmt: skip
    option(parser, "--ranks-per-host N", whole(1),
           "Ranks on each host. Default: as the network says.", default=0)  # fmt: skip
    parser.add_argument(
        "--engine", choices=predicting.ENGINES, default=predicting.OWN,
        help="Simulator: max-min (the default), crosscut's own; or smpi, SimGrid's SMPI, which takes no "
        "--deep-queues, --eager, --inject, --send-buffer or --traced-on.",
    )  # fmt: skip
    replaying.add_model(parser)
    option(parser, "--option NAME:VALUE", smpi.checked_option,
           "Option of SimGrid (--cfg), which overrides what crosscut sets. Needs --engine smpi. "
           "May be repeated.", dest="options", action="append", default=[])  # fmt: skip
    replaying.add_limits(parser)
    option(parser, "-o --out FILE", Path, "Draw the parts of the time as a chart: .svg, .png or .pdf.")
    flag(parser, "--json", "Print one JSON object on standard output.")


def execute(args: argparse.Namespace) -> int:
    _check_engine(args)
    if args.out is not None:
        charts.check(args.out)
    trace = traces.read(args.trace)
    made = source.find(trace, args.flops)
    home = "" if args.engine == predicting.SMPI else replaying.home(args, trace, made)
    asked = record(
        predicting.PredictionRequest, vars(args), networks=tuple(args.on), options=tuple(args.options),
        what_if=tuple(args.what_if), operations_per_second=made.operations_per_second,
        transport=replaying.transport(args), limits=replaying.limits(args),
    )  # fmt: skip

    def told(what: str) -> None:
        programs.tell_progress(args, f"replaying on {what}"[:100])

    with tempfile.TemporaryDirectory(prefix="crosscut-predict-") as name:
        if args.engine == predicting.SMPI:
            smpi.checked_words(smpi.SimulatedProgram(Path("replay")), Path(name))
            smpi_options.check(asked.options, "smpirun", smpi.QUIET, Path(name))
        try:
            noise = replaying.fit(home, trace, asked, made, Path(name))
            asked = asked if noise is None else calibrating.fitted(asked, noise)
            predicted = predicting.predict(trace, asked, Path(name), told)
        finally:
            programs.tell_progress(args, "")
    if args.json:
        print(json.dumps(telling.as_json(asked, predicted, made, noise)))
    else:
        telling.tell(asked, predicted, made, noise)
    if args.out is not None:
        whole_file.write_output(args.out, charts.drawn(picture.chart(predicted), args.out.suffix))
    return EXIT_OK


def _check_engine(args: argparse.Namespace) -> None:
    if args.engine == predicting.SMPI:
        if (reason := smpi.unavailable()) is not None:
            raise CrosscutError(reason)
        if args.traced_on is not None:
            raise UsageError("--traced-on needs --engine max-min")
        sizes = (args.eager, args.inject, args.send_buffer)
        if args.deep_queues or any(size is not None for size in sizes):
            raise UsageError(
                "--deep-queues, --eager, --inject and --send-buffer need --engine max-min; SMPI has options "
                "of its own, such as --option smpi/async-small-thresh:4096"
            )
    elif args.options:
        raise UsageError("--option needs --engine smpi")
