"""`crosscut report`: runs as one HTML page."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from crosscut.base import bounded_file, units, whole_file
from crosscut.base.errors import EXIT_OK, UsageError, plainly
from crosscut.campaigns.campaign import is_campaign, review
from crosscut.cli.parsing import options
from crosscut.cli.parsing.parser import flag, option
from crosscut.run.launches import is_launches, load

if TYPE_CHECKING:
    from crosscut.reports.html.page import Found

LARGEST_FINDINGS_BYTES = 256 << 20
EPILOG = """
examples:
  crosscut report aapc.zarr                           writes aapc.html
  crosscut report e7.zarr er16.zarr -o networks.html  runs side by side
  crosscut report evaluation                          the runs of `crosscut evaluate`
  crosscut report aapc.zarr --size 100KB              details of 100 KB first, not of the largest size
  crosscut report aapc.zarr --spec acceptance.toml    verdicts first, each with the picture that proves it
  crosscut report aapc.zarr --figures paper           pictures as SVG and PDF, with captions and CSV
  crosscut report kept/*.zarr --verdicts check.json -o acceptance.html --redact    for the vendor

The page begins with the findings, then shows the evidence: every route in a heat map, rates by phase,
histograms. Every picture can be saved as SVG or PNG, and its figures as CSV.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "runs",
        nargs="+",
        type=options.folder,
        metavar="DIR",
        help="Run, evaluation or folder of launches.",
    )
    option(parser, "-o --out FILE", Path, "Page to write. Default, for one run: its name with .html.")
    option(parser, "--size SIZE", units.parse_bytes,
           "Message size to show in detail first. Default: each run's largest. The page offers the "
           "others.")  # fmt: skip
    option(parser, "--located FILE", Path,
           "Begin the page with what `crosscut locate --json` found, not with the run's own "
           "findings.")  # fmt: skip
    option(parser, "--spec FILE", options.folder,
           "Begin the page with a verdict for each promise of this specification, as `crosscut check` "
           "does.")  # fmt: skip
    option(parser, "--verdicts FILE", options.folder,
           "Instead of --spec: show the verdicts that `crosscut check --json` gave these runs.")  # fmt: skip
    options.add_cabling(parser)
    option(parser, "--figures DIR", Path,
           "Instead of a page, write each picture to this folder as SVG and PDF, with its caption and its "
           "figures as CSV.")  # fmt: skip
    flag(parser, "--redact",
         "Replace node names with numbers; leave out addresses, command, network and folders.")  # fmt: skip
    options.add_reading(parser)
    flag(parser, "--force", "Replace files that exist.")


def execute(args: argparse.Namespace) -> int:
    from crosscut.reports.html import write  # numpy and xarray take a second to import
    from crosscut.run.run import Run

    if args.spec and args.verdicts:
        raise UsageError("--spec judges now, --verdicts shows earlier judgements: give only one of the two")
    if args.redact and args.cabling:
        raise UsageError("--redact hides names, --cabling prints them: give only one of the two")
    if args.out is not None:
        whole_file.need_place("-o", args.out)
    runs = _runs(args.runs)
    if args.figures is not None:
        return _figures(args, runs)
    if args.out is not None and not args.out.is_dir() and args.out.suffix.lower() not in (".html", ".htm"):
        raise UsageError(
            f"-o {args.out}: a page is a file that ends in .html; print it from a browser for PDF"
        )
    out = args.out or (Path("redacted.html") if args.redact else _named_after(args.runs))
    found = _findings(args.located, runs)
    nodes = [name for path in runs for name in Run.open(path).node_names] if args.cabling else []
    write.write(
        runs, out, size_bytes=args.size, found=found, overwrite=args.force,
        cabling=options.cabling_of(args, nodes), spec=args.spec, verdicts=args.verdicts, redact=args.redact,
    )  # fmt: skip
    print(f"wrote {out} ({units.about_size(out.stat().st_size)})")
    return EXIT_OK


def _figures(args: argparse.Namespace, runs: list[Path]) -> int:
    from crosscut.reports import paper
    from crosscut.reports.html import page
    from crosscut.reports.view import View

    for name in ("out", "spec", "verdicts", "cabling", "redact"):
        if getattr(args, name):
            raise UsageError(f"--{name} is for pages: give only one of --figures and --{name}")
    found = _findings(args.located, runs)
    drawn = page.pictures([View.open(run) for run in runs], size_bytes=args.size, found=found)
    files = paper.write(drawn, args.figures, overwrite=args.force)
    print(f"wrote {units.count(len(drawn), 'picture')}, {units.count(len(files), 'file')}, to {args.figures}")
    return EXIT_OK


def _runs(named: list[Path]) -> list[Path]:
    """Returns the runs, with evaluations and folders of launches expanded to their measured runs."""
    runs: list[Path] = []
    for path in named:
        if is_campaign(path):
            measured = [result.out for result in review(path) if result.measured]
        elif is_launches(path):
            measured = [*load(path).there]
        else:
            runs.append(path)
            continue
        if not measured:
            raise UsageError(f"{path}: none of its runs has been measured, so there is nothing to report")
        runs += measured
    return runs


def _named_after(named: list[Path]) -> Path:
    if len(named) > 1:
        raise UsageError("several runs were named: name the page with -o FILE.html")
    return Path(named[0].absolute().name).with_suffix(".html")


def _findings(path: Path | None, runs: list[Path]) -> dict[Path, Found]:
    from crosscut.analysis.findings import model as findings
    from crosscut.reports.html.page import Found
    from crosscut.run.realm import described_network
    from crosscut.run.run import Run

    if path is None:
        return {}
    if len(runs) > 1:
        raise UsageError(
            f"--located belongs to one run, but {len(runs)} were named; name only the run that has them"
        )
    text = bounded_file.read(path, LARGEST_FINDINGS_BYTES, "what crosscut locate --json found")
    run = Run.open(runs[0])
    try:
        document = json.loads(text)
        found = Found(*findings.from_json(document, run.ranks))
    except (ValueError, RecursionError, UsageError) as error:
        raise UsageError(
            f"{path}: {plainly(error)}; --located takes what crosscut locate --json printed"
        ) from error
    described = described_network(run.attributes)
    searched, own = document.get("network"), described.digest if described else None
    if searched is not None and own is not None and searched != own:
        raise UsageError(f"{path}: findings of another network than that of {run.path}")
    named = {host.partition(":")[0] for one in found.findings for host in one.hosts}
    if stray := sorted(named - set(run.node_names)):
        raise UsageError(
            f"{path}: findings of another run: they name {stray[0]}, which {run.path} does not have"
        )
    return {runs[0]: found}
