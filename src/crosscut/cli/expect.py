"""`crosscut expect`: the rate and latency to expect of this machine's parts, with the arithmetic."""

from __future__ import annotations

import argparse
import math
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from crosscut.base import units
from crosscut.base.errors import EXIT_OK, UsageError
from crosscut.cli.parsing import options
from crosscut.cli.parsing.parser import flag, option, tell, whole

if TYPE_CHECKING:
    from crosscut.analysis.figures.expectation import Expected, Path
    from crosscut.analysis.stats.intervals import Floats
    from crosscut.base.nic import Adapter
    from crosscut.reports.terminal.expect import MeasuredValue

EPILOG = """
examples:
  crosscut expect                            from this machine's adapters
  crosscut expect --adapter eth0 --speed '25 Gbit/s' --run aapc.zarr
  crosscut expect --network xibalba-er16 --run aapc.zarr
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from crosscut.analysis.compare.spec import parse_rate

    option(parser, "--adapter NAME", str, "Network adapter. Default: the fastest that is up.")
    option(
        parser, "--speed RATE", parse_rate, "Speed of the adapter's link, if it reports none: '25 Gbit/s'."
    )
    option(parser, "--mtu BYTES", whole(68), "Largest packet. Default: the MTU of the adapter.")
    option(
        parser,
        "--network NETWORK",
        str,
        "Network whose ports, switches and bisection count: a description (TOML), or a name from "
        "`crosscut network list`.",
    )
    option(parser, "--cable METRES", float, "Length of each cable in metres. Default 5.", default=5.0)
    option(parser, "--run DIR", options.folder, "Run to compare with the expectation.")
    options.add_reading(parser)
    flag(parser, "--json", "Print one JSON object on standard output.")


def execute(args: argparse.Namespace) -> int:
    from crosscut.analysis.figures.expectation import Path, expect
    from crosscut.base import nic
    from crosscut.reports.terminal import expect as terminal_expect

    if not 0 <= args.cable <= 1e6:
        raise UsageError(f"--cable {args.cable}: not a length in metres; it must be from 0 to 1,000,000")
    path = _path(args.network) if args.network else Path()
    adapter = _adapter(args, path)
    found = expect(
        adapter, path, timestamps=nic.tcp_timestamps(), loopback_seconds=nic.loopback_seconds(),
        cable_metres=args.cable,
    )  # fmt: skip
    measured = _measured(args, found) if args.run else []
    tell(args, lambda: _document(adapter, found, measured),
         lambda screen: terminal_expect.render(screen, adapter.name, found, measured))  # fmt: skip
    return EXIT_OK


def _adapter(args: argparse.Namespace, path: Path) -> Adapter:
    from crosscut.base import nic

    there = nic.adapters()
    named = [adapter for adapter in there if args.adapter in (None, adapter.name)]
    if args.adapter and not named:
        names = ", ".join(adapter.name for adapter in there) or "none"
        raise UsageError(f"--adapter {args.adapter}: no such adapter here; known: {names}")
    adapter = max(
        named or [nic.Adapter("an adapter")],
        key=lambda a: (a.up, a.bits_per_second if math.isfinite(a.bits_per_second) else 0),
    )
    if args.speed is not None:
        adapter = replace(adapter, bits_per_second=8 * args.speed)
    if args.mtu is not None:
        adapter = replace(adapter, mtu_bytes=args.mtu)
    if not math.isfinite(adapter.bits_per_second) and not math.isfinite(path.host_link_bits_per_second):
        raise UsageError(
            f"{adapter.name} does not report the speed of its link (virtual ones do not): give "
            "--speed '10 Gbit/s', or --network FILE"
        )
    return adapter


def _path(name: str) -> Path:
    from crosscut.analysis.figures.expectation import Path
    from crosscut.network import description

    described = description.load(name, graph=True)
    graph = described.graph
    assert graph is not None
    rates = [edge.bits_per_second for edge in graph.edges if edge.a < graph.hosts <= edge.b]
    figures = described.figures
    hops = figures.get("distances", {}).get("diameter_hops", 1)
    return Path(
        host_link_bits_per_second=min(rates) if rates and math.isfinite(min(rates)) else math.nan,
        efficiency=_number(figures.get("protocol"), "efficiency"),
        bisection_bits_per_second=_number(figures.get("bisection"), "per_host_of_half_bits_per_second"),
        switches=int(hops) if isinstance(hops, int | float) else 1,
        name=described.name,
    )


def _number(table: object, key: str) -> float:
    value = table.get(key) if isinstance(table, dict) else None
    return float(value) if isinstance(value, int | float) else math.nan


def _measured(args: argparse.Namespace, found: Expected) -> list[MeasuredValue]:
    """Returns the run's values to compare, from routes between nodes, since others use no adapter."""
    import numpy as np

    from crosscut.analysis.figures import samples, summary
    from crosscut.reports.terminal.expect import MeasuredValue
    from crosscut.run.run import Run
    from crosscut.run.shape import Shape, reading

    run = Run.open(args.run)
    how = reading(run.attributes)
    taken = samples.load(run.dataset, run.size_index(max(run.sizes_bytes)))
    routes = summary.routes(taken)
    rates = routes.rates.median[~routes.same_node]
    rates = rates[np.isfinite(rates)]
    if not len(rates):
        raise UsageError(
            f"{args.run} has no measured message of {units.size(taken.size_bytes)} between two nodes, so it "
            "shows nothing about the network"
        )
    told = [
        MeasuredValue(
            f"the {which} route, messages of {units.size(taken.size_bytes)}",
            rate,
            found.route_bytes_per_second,
        )
        for which, rate in (("best", float(rates.max())), ("median", float(np.median(rates))))
    ]
    if how.halves and math.isfinite(found.bisection_bytes_per_second):
        phases = _median(summary.phase_rates(taken).median)
        told.append(MeasuredValue("half to half, each rank", phases, found.bisection_bytes_per_second))
    if how.shape is Shape.SWEEP and how.latency:
        least = samples.load(run.dataset, run.size_index(min(run.sizes_bytes)))
        timed = summary.routes(least, timed=True)
        latency = _median(timed.rates.median[~timed.same_node])
        what = f"latency, messages of {units.size(least.size_bytes)}"
        told.append(MeasuredValue(what, latency, found.latency_seconds, seconds=True))
    # A partial run may lack a size or its phases.
    return [one for one in told if math.isfinite(one.value)]


def _median(values: Floats) -> float:
    """Returns the median of the finite values; NaN if there is none."""
    import numpy as np

    measured = values[np.isfinite(values)]
    return float(np.median(measured)) if len(measured) else math.nan


def _document(adapter: Adapter, found: Expected, measured: list[MeasuredValue]) -> dict[str, Any]:
    bisection = found.bisection_bytes_per_second
    return {
        "schema": {"name": "crosscut-expectation", "version": 1},
        "adapter": adapter.name,
        "route_bytes_per_second": found.route_bytes_per_second,
        "bisection_bytes_per_second": bisection if math.isfinite(bisection) else None,
        "latency_seconds": found.latency_seconds,
        "limit": found.limit,
        "lines": [asdict(line) for line in found.lines],
        "measured": [asdict(one) | {"share": one.share} for one in measured],
    }
