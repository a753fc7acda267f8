"""`crosscut history`: runs and findings of months in one file."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crosscut.base import units, whole_file
from crosscut.base.errors import EXIT_OK, CrosscutError, UsageError
from crosscut.base.spelling import missing
from crosscut.cli.parsing import options
from crosscut.cli.parsing.parser import actions, add_action, flag, option, run_action, tell, whole

if TYPE_CHECKING:
    import sqlite3

    from crosscut.history.changes import ChangeSettings
    from crosscut.history.queries import SeriesRow

EPILOG = """
examples:
  crosscut history add net.db night.zarr              after each night, from cron; twice changes nothing
  crosscut history add net.db kept --cabling c.csv    all runs in a folder; racks and cables for trends
  crosscut history list net.db                        the latest runs, with the hosts at fault
  crosscut history trend net.db --host n0007          its rates, and the findings that name it
  crosscut history trend net.db --groups r1 r2        between two racks
  crosscut history note net.db 2026-03-12 "firmware 14.32 on all adapters"
  crosscut history changes net.db                     which hosts changed, when, and what they share
  crosscut history report net.db -o net.html          all of it on one page
  crosscut history metrics net.db -o /var/lib/prometheus/node-exporter/crosscut.prom
  crosscut history metrics net.db --listen 9847       or for Prometheus to pull

The history keeps a few figures of each host and every finding, not the messages: keep the runs as well.
"""

_NAMED = 5

execute = run_action


def add_arguments(parser: argparse.ArgumentParser) -> None:
    commands = actions(parser)
    _add_add(commands)
    one = _action(commands, "list", _list, "list the runs, with the hosts at fault")
    _choosing(one)
    option(one, "--last N", whole(1), "Show the latest N runs of each series. Default 20.", default=20)
    flag(one, "--json", "Print one JSON object on standard output.")
    _add_trend(commands)
    _add_changes(commands)
    one = _action(commands, "report", _report, "write the history as one self-contained HTML page")
    option(one, "-o --out FILE", Path, "Page to write. Default: the name of the history with .html.")
    _choosing(one)
    _judging(one)
    flag(one, "--force", "Replace a file that exists.")
    one = _action(
        commands, "metrics", _metrics, "print the latest results as metrics, or serve them to Prometheus"
    )
    how = one.add_mutually_exclusive_group()
    option(how, "-o --out FILE.prom", Path,
           "Write them to this file at once as a whole, for node_exporter's textfile collector.")  # fmt: skip
    option(how, "--listen [ADDRESS:]PORT", str,
           "Answer GET /metrics until interrupted. Address: 127.0.0.1 unless given.")  # fmt: skip
    add_action(
        commands, "dashboard", _dashboard, "print a Grafana dashboard of these metrics, as JSON to import"
    )
    one = _action(commands, "note", _note, "keep what people know about a day, such as new firmware")
    one.add_argument("day", type=_day, metavar="DATE", help="The day, as 2026-03-12.")
    one.add_argument("text", metavar="TEXT", help="What happened then.")
    flag(one, "--remove", "Remove this note.")
    one = _action(commands, "forget", _forget, "remove old runs, and give their space back")
    option(one, "--before DATE", _day, "Remove the runs that began before this day (UTC).", required=True)
    flag(one, "--dry-run", "Only say how many runs that would be.")


def _action(commands: Any, name: str, act: Any, words: str) -> argparse.ArgumentParser:
    one = add_action(commands, name, act, words)
    one.add_argument("history", type=Path, metavar="DB", help="File of the history.")
    return one


def _add_add(commands: Any) -> None:
    one = _action(commands, "add", _add, "add runs; makes the file if there is none")
    one.add_argument(
        "runs", nargs="+", type=options.folder, metavar="RUN",
        help="Run, folder of launches, evaluation, or folder of runs such as check --keep leaves.",
    )  # fmt: skip
    option(one, "--cluster NAME", str,
           "Name of the cluster or network. Default: that of the network's description, or the "
           "place.")  # fmt: skip
    option(one, "--verdicts FILE", options.folder,
           "Verdicts that crosscut check --json gave these runs; kept with the last of them.")  # fmt: skip
    options.add_cabling(one)
    options.add_reading(one)
    flag(one, "--quiet", "Report only runs that could not be added.")


def _add_trend(commands: Any) -> None:
    one = _action(commands, "trend", _trend, "show the rates of a host, of a cable or between two racks")
    which = one.add_mutually_exclusive_group(required=True)
    option(which, "--host NAME", str, "The host.")
    option(which, "--cable NAME", str, "The cable of a host, by its label or as 'SWITCH PORT'.")
    which.add_argument("--groups", nargs=2, metavar=("A", "B"),
                       help="Two racks, or switches, as the list of cables names them.")  # fmt: skip
    _choosing(one)
    option(one, "--last N", whole(0), "Also list the latest N runs. Default 10.", default=10)
    flag(one, "--json", "Print one JSON object on standard output.")


def _add_changes(commands: Any) -> None:
    one = _action(commands, "changes", _changes, "find when hosts changed, and which changed together")
    _choosing(one)
    _judging(one)
    flag(one, "--json", "Print one JSON object on standard output.")


def _judging(one: argparse.ArgumentParser) -> None:
    option(one, "--matters SHARE", units.parse_fraction,
           "Ignore changes smaller than this. Default 3%%.", default=0.03)  # fmt: skip
    option(one, "--error-rate SHARE", units.parse_fraction,
           "Probability of reporting any change if nothing has changed. Default 1%%.",
           default=0.01)  # fmt: skip
    option(one, "--nights N", whole(1), "Look at the latest nights only. Default 366.", default=366)


def _choosing(one: argparse.ArgumentParser) -> None:
    group = one.add_argument_group("which series; default: all")
    option(group, "--cluster NAME", str, "Only this cluster.", default="")
    option(group, "--pattern NAME", str, "Only runs of this pattern.", default="")
    option(
        group, "--size SIZE", units.parse_bytes, "Only runs whose largest message has this size.", default=0
    )


def _day(text: str) -> str:
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"'{text}' is not a day; write for example 2026-03-12") from error


def _wanted(args: argparse.Namespace, connection: sqlite3.Connection) -> list[SeriesRow]:
    from crosscut.history import queries

    return queries.all_series(connection, queries.Wanted(args.cluster, args.pattern, args.size))


def _expanded(named: Path) -> list[Path]:
    """Returns the runs that a path stands for, damaged ones too."""
    from crosscut.campaigns.campaign import is_campaign, review
    from crosscut.run.launches import is_launches

    if is_campaign(named):
        return [result.out for result in review(named) if result.measured]
    if named.is_file():
        raise UsageError(
            f"{named} is a file, not a run; crosscut import turns another program's output into a run"
        )
    if not named.is_dir():
        raise UsageError(f"{named}: {missing(named, 'directory')}")
    if is_launches(named) or _is_run(named):
        return [named]
    if found := sorted(filter(_is_run, named.iterdir())):
        return found
    raise UsageError(f"{named}: neither a run nor a folder of runs; crosscut run --out NAME.zarr makes one")


def _is_run(folder: Path) -> bool:
    """True for a folder that holds a run, even if its zarr.json is lost."""
    return folder.is_dir() and (
        folder.suffix == ".zarr"
        or (folder / "zarr.json").exists()
        or (folder / "size" / "zarr.json").exists()
    )


def _add(args: argparse.Namespace) -> int:
    from crosscut.history import database, store
    from crosscut.history.record import Undated, record

    cabling = options.cabling_of(args)
    runs = [run for named in args.runs for run in _expanded(named)]
    failed, last = 0, ""
    undated: list[Path] = []
    with contextlib.ExitStack() as opened:
        # A history is made only once there is a run to add.
        connection = opened.enter_context(database.writing(args.history)) if args.history.exists() else None
        judged = _verdicts(args.verdicts, runs)
        for run in runs:
            try:
                kept = record(run, args.cluster, cabling)
            except CrosscutError as error:  # one damaged run does not keep the others out
                if isinstance(error, Undated) and run not in args.runs:
                    undated.append(run)
                    continue
                failed = max(failed, error.exit_code)
                print(f"crosscut: error: {error}", file=sys.stderr)
                continue
            connection = connection or opened.enter_context(database.writing(args.history))
            done = store.add(connection, kept, named=args.cluster is not None, cabled=cabling is not None)
            last = kept.identity
            if not args.quiet:
                print(f"{run}: {done.value}")
        if judged and connection and last:
            store.judge(connection, last, judged)
    if undated and not args.quiet:
        print(
            f"left out, as nothing says when they were measured (crosscut import --started TIME does): "
            f"{', '.join(map(str, undated[:_NAMED]))}{' …' if undated[_NAMED:] else ''}"
        )
    return failed or EXIT_OK


def _verdicts(file: Path | None, runs: list[Path]) -> Any:
    if file is None:
        return ()
    from crosscut.analysis.figures.launches import open_run
    from crosscut.reports.json import check

    return check.read(file, max(open_run(run).ranks for run in runs))[1]


def _list(args: argparse.Namespace) -> int:
    from crosscut.history import as_json, database, queries

    with database.reading(args.history) as connection:
        found = [(one, queries.runs(connection, one.id, args.last)) for one in _wanted(args, connection)]
        every = [run.id for _, runs in found for run in runs]
        faults = {run: queries.finding_hosts(connection, run) for run in every}
        judged = {run: queries.verdicts(connection, run) for run in every}
        notes = queries.notes(connection)

    def render(screen: Any) -> None:
        from crosscut.history import terminal

        for series, runs in found:
            terminal.render_runs(screen, series, runs, faults, judged)
        days = [run.day for _, runs in found for run in runs]
        terminal.render_notes(screen, [note for note in notes if days and note.day >= min(days)])

    tell(args, lambda: as_json.runs(found, faults, judged, notes), render)
    return EXIT_OK


def _trend(args: argparse.Namespace) -> int:
    from crosscut.history import as_json, database, trends

    with database.reading(args.history) as connection:
        of, what = next(
            (of, what)
            for of, what in (
                (trends.of_host, args.host), (trends.of_cable, args.cable), (trends.of_groups, args.groups),
            )
            if what is not None
        )  # fmt: skip
        found = trends.each(connection, _wanted(args, connection), of, what)

    def render(screen: Any) -> None:
        from crosscut.history import terminal

        for one in found:
            terminal.render_trend(screen, one, args.last)

    tell(args, lambda: as_json.trends(found), render)
    return EXIT_OK


def _asked(args: argparse.Namespace) -> ChangeSettings:
    from crosscut.history.changes import ChangeSettings

    if not 0 < args.error_rate < 0.5:
        raise UsageError("--error-rate must be above 0 and below 50 %")
    return ChangeSettings(args.error_rate, args.matters, args.nights)


def _changes(args: argparse.Namespace) -> int:
    from crosscut.history import as_json, changes, database

    asked = _asked(args)
    with database.reading(args.history) as connection:
        found = changes.changes(connection, _wanted(args, connection), asked)

    def render(screen: Any) -> None:
        from crosscut.history import terminal

        terminal.render_changes(screen, found)

    tell(args, lambda: as_json.changes(found), render)
    return EXIT_OK


def _report(args: argparse.Namespace) -> int:
    from crosscut.history import database, page

    out = args.out or Path(args.history.absolute().name).with_suffix(".html")
    if out.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"-o {out}: a page is a file that ends in .html")
    if out.exists() and not args.force and not whole_file.is_special(out):
        raise UsageError(f"{out} exists; --force replaces it, -o names another file")
    with database.reading(args.history) as connection:
        document = page.render(connection, _wanted(args, connection), _asked(args))
    whole_file.write_output(out, document.encode("utf-8", "replace"))
    print(f"wrote {out} ({units.about_size(out.stat().st_size)})")
    return EXIT_OK


def _metrics(args: argparse.Namespace) -> int:
    from crosscut.history import database, metrics

    if args.listen is not None:
        from crosscut.history import endpoint

        endpoint.run(args.history, endpoint.parse_listen(args.listen))
        return EXIT_OK
    with database.reading(args.history) as connection:
        text = metrics.text(metrics.samples(connection))
    if args.out is None:
        sys.stdout.write(text)
    elif args.out.suffix != ".prom":
        raise UsageError(f"-o {args.out}: node_exporter reads only files that end in .prom")
    else:
        whole_file.need_place("-o", args.out)
        whole_file.write_output(args.out, text.encode())
    return EXIT_OK


def _dashboard(_: argparse.Namespace) -> int:
    from crosscut.history import dashboard

    print(json.dumps(dashboard.dashboard(), indent=2))
    return EXIT_OK


def _note(args: argparse.Namespace) -> int:
    from crosscut.history import database, store

    if not args.text.strip() or len(args.text) > 500:
        raise UsageError("a note has from 1 to 500 characters")
    if not args.history.exists():
        raise UsageError(f"{args.history}: {missing(args.history)}; crosscut history add makes one")
    with database.writing(args.history) as connection:
        if not args.remove:
            store.note(connection, args.day, args.text)
        elif not store.remove_note(connection, args.day, args.text):
            raise UsageError(f"there is no such note of {args.day}; crosscut history list shows notes")
    print(f"{'removed' if args.remove else 'noted'} for {args.day}: {args.text}")
    return EXIT_OK


def _forget(args: argparse.Namespace) -> int:
    from crosscut.history import database, store

    if not args.history.exists():
        raise UsageError(f"{args.history}: there is no such file")
    with database.writing(args.history) as connection:
        count = store.older(connection, args.before)
        if not args.dry_run:
            store.forget(connection, args.before)
    done = "would be forgotten" if args.dry_run else "forgotten"
    print(
        f"{units.count(count, 'run')} from before {args.before} {done}; the runs' own folders are untouched"
    )
    return EXIT_OK
