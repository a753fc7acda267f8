"""`crosscut explain`: which capacity limits which phase of a run."""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Collection, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from crosscut.base import units
from crosscut.base.errors import EXIT_OK, UsageError
from crosscut.base.spelling import spans
from crosscut.cli.parsing import options
from crosscut.cli.parsing.parser import flag, option
from crosscut.network import description
from crosscut.run.realm import is_emulated
from crosscut.run.shape import reading

if TYPE_CHECKING:
    from crosscut.analysis.findings.explain import Bottleneck, Way
    from crosscut.analysis.structure.observed import Observed
    from crosscut.run.run import Run

EPILOG = """
examples:
  crosscut run aapc --on sim:xibalba-e7-config1 --out e7.zarr
  crosscut explain e7.zarr                   phases 9 to 55: up to 32 messages share 94.9 MB/s …
  crosscut explain e7.zarr --network my.toml for a run that names no network

Capacities are those of the network's description, if the run has one (simulated and emulated clusters) or
--network names one; otherwise those that the run itself shows. How it works: docs/how-it-locates.md.
"""
_SHOWN = 14


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "run",
        type=options.folder,
        metavar="DIR",
        help="Run of a pattern in which all ranks send, such as aapc.",
    )
    option(parser, "--size SIZE", units.parse_bytes, "Message size to explain. Default: the largest.")
    option(
        parser,
        "--network NETWORK",
        str,
        "Network of the run: a description (TOML), or a name from `crosscut network list`.",
    )
    options.add_cabling(parser)
    options.add_reading(parser)
    flag(parser, "--json", "Print one JSON object on standard output.")


def execute(args: argparse.Namespace) -> int:
    from crosscut.analysis.findings import explain, of_run
    from crosscut.analysis.structure.observed import of_samples
    from crosscut.reports.terminal.screen import screen_for
    from crosscut.reports.view import View
    from crosscut.reports.words import about, advice
    from crosscut.run.run import Run

    run = Run.open(args.run)
    index = run.size_index(args.size) if args.size is not None else None
    if not reading(run.attributes).findings:
        raise UsageError(
            f"{args.run}: its pattern does not load many routes at once; use a run of aapc or pairwise"
        )
    index = of_run.chosen(run, index)
    if index is None or (samples := View.of(run).samples(index)).of_phases:
        raise UsageError(
            f"{args.run}: it does not record single messages, so shared limits cannot be inferred"
        )
    observed = of_samples(samples)
    if not len(observed):
        raise UsageError(f"{args.run}: nothing was measured")
    found, basis, by_run = _bottlenecks(run, index, observed, args)
    findings = of_run.find(run, index) if of_run.is_quick(run) else []
    faults = explain.faulty(observed, findings)
    if args.json:
        told = {"faults": [*map(asdict, faults)], "bottlenecks": [*map(asdict, found)]}
        print(json.dumps({"basis": basis, **told}))
        return EXIT_OK
    screen = screen_for()
    screen.line(f"{units.size(samples.size_bytes)} messages, capacities {basis}", "bold")
    for caution in about.beware(View.of(run), [samples]):
        screen.warn(caution.text)
    every = set(observed.phase.tolist())
    lines = [f"{_named(one.phases, every)}: {one.what}" for one in faults] + sentences(found)
    for line in lines[:_SHOWN]:
        screen.line(line)
    if len(lines) > _SHOWN:
        screen.line(f"and {len(lines) - _SHOWN} more; --json has all", "dim")
    # A host's fault may slow all phases; what else limits each of them is still of interest.
    explained = [one.phases for one in found]
    explained += [one.phases for one in faults if len(one.phases) < len(every)]
    if others := every.difference(*explained):
        why = explain.unexplained(observed, others, by_run=by_run, found=findings)
        on = advice.place_of(run.attributes)
        screen.line(f"{_named(sorted(others), every)}: {advice.at_place(why, on)}")
    return EXIT_OK


def _bottlenecks(
    run: Run, index: int | None, observed: Observed, args: argparse.Namespace
) -> tuple[list[Bottleneck], str, bool]:
    """Returns the bottlenecks, where their capacities come from, and whether that is the run itself."""
    from crosscut.analysis.findings import cable_names, explain, of_run
    from crosscut.network import message_paths

    described, way = _description(run, args.network)
    if described is not None and described.graph is not None:
        hosts = {vertex.name: at for at, vertex in enumerate(described.graph.vertices[: described.hosts])}
        of_rank = [hosts.get(name, -1) for name in run.node_names]
        if min(of_rank) >= 0:
            found = explain.by_network(observed, described.graph, of_rank, way)
            if found is not None:
                return found, f"of the network {described.name}", False
        elif args.network:
            missing = run.node_names[of_rank.index(-1)]
            raise UsageError(f"--network {args.network}: it has no host '{missing}', which the run names")
    said, structure = of_run.look(run, index)
    if structure is None:
        why = "too little was measured to infer shared limits; try crosscut run aapc"
        raise UsageError(f"{args.run}: {said[0].what if said else why}")
    if (cabling := options.cabling_of(args, run.node_names)) is not None:
        _, structure = cable_names.named([], structure, cabling)
        assert structure is not None
    why = ""
    if described is not None:
        why = ", because the paths of messages in its network are not known"
        if described.hosts > message_paths.MOST_HOSTS:
            why = f", because its network has more than {message_paths.MOST_HOSTS:,} hosts"
    return explain.by_structure(observed, structure), f"as the run itself shows them{why}", True


def _description(run: Run, named: str | None) -> tuple[description.Network | None, Way | None]:
    """Returns the named network or the one in the run, and the paths of its messages if the graph alone does
    not determine them."""
    by_tables = is_emulated(run.attributes)
    if named:
        found = description.load(named, graph=True)
        return found, _ways(found, named, by_tables=by_tables)
    recorded = run.attributes.get("network")
    if not isinstance(recorded, dict) or not isinstance(text := recorded.get("description"), str):
        return None, None
    with tempfile.TemporaryDirectory(prefix="crosscut-") as folder:
        path = Path(folder) / "network.toml"
        path.write_text(text, encoding="utf-8")
        try:
            found = description.load(str(path), graph=True)
        except UsageError:
            return None, None  # written by another version: fall back to what the run shows
        way = _ways(found, str(path), by_tables=by_tables)
    if isinstance(name := recorded.get("name"), str):
        found = description.Network({**found.figures, "name": name}, found.graph)
    return found, way


def _ways(found: description.Network, file: str, *, by_tables: bool) -> Way | None:
    from crosscut.analysis.findings import explain
    from crosscut.network import message_paths

    if found.graph is None or found.hosts > message_paths.MOST_HOSTS or explain.single_ways(found.graph):
        return None
    return message_paths.of_file(file, by_tables=by_tables)


def sentences(found: Sequence[Bottleneck]) -> list[str]:
    """Returns one sentence per group of capacities with the same phases, rate and number of messages."""
    alike: dict[tuple[tuple[int, ...], str, int], list[Bottleneck]] = {}
    for one in found:
        rate = units.rate(one.bytes_per_second)
        alike.setdefault((one.phases, rate, one.most_flows), []).append(one)
    lines = []
    for (phases, rate, flows), those in alike.items():
        where = ", ".join(one.what for one in those[:4])
        where += f" and {len(those) - 4} more" if len(those) > 4 else ""
        where = f"in each of {len(those)} places ({where})" if len(those) > 1 else where
        slowest = min(one.slowest_share for one in those)
        lines.append(
            f"{_ranges(phases)}: up to {flows} messages share {rate} {where}; those that it limits reach "
            f"{100 * slowest:.0f} % of a host's rate or more"
        )
    return lines


def _named(phases: Sequence[int], every: Collection[int]) -> str:
    return "all phases" if len(phases) == len(every) else _ranges(phases)


def _ranges(phases: Sequence[int]) -> str:
    """Returns the phases as text, such as `phases 9 to 55, 60`."""
    said = [str(a) if a == b else f"{a} to {b}" for a, b in spans(phases)]
    shown = ", ".join(said[:5]) + (f" and {len(said) - 5} ranges more" if len(said) > 5 else "")
    return f"{'phase' if len(phases) == 1 else 'phases'} {shown}"
