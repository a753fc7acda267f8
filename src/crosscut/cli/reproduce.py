"""`crosscut reproduce`: repeats a paper's experiment on an emulated or simulated cluster, or here."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from crosscut.base import units
from crosscut.base.errors import EXIT_OK, CrosscutError, Interrupted, UsageError
from crosscut.base.whole_file import need_folder
from crosscut.cli.parsing import options
from crosscut.cli.parsing.measuring import checked_words
from crosscut.cli.parsing.parser import flag, option, whole
from crosscut.network import switch_choice
from crosscut.places.lab import divisor
from crosscut.run.realm import Realm
from crosscut.session.measure import refuse_bytes
from crosscut.session.progress import reporter

if TYPE_CHECKING:
    from crosscut.reproduce.experiment import Experiment
    from crosscut.reproduce.running import ReproduceOptions
    from crosscut.session.client import Listener

EPILOG = """
examples:
  crosscut reproduce                              list the experiments
  crosscut reproduce --list                       list the papers, and how much of each is compared
  crosscut reproduce --list kurmann2003           each table and figure of one
  crosscut reproduce kurmann-tables-3-5 --on sim
  crosscut reproduce kurmann-table-4 --on both --out aapc
  crosscut reproduce kurmann2003 --quick          a whole paper, with a page

More in docs/howto-reproduce.md.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "experiment",
        nargs="?",
        metavar="NAME",
        help="Experiment from the list, a file, or a paper. Without it, print the list of experiments.",
    )
    parser.add_argument(
        "--on",
        choices=(Realm.EMULATED.value, Realm.SIMULATED.value, Realm.HERE.value, "both"),
        help="Where to repeat it: on an emulated cluster (lab), on a simulated one (sim), or on this machine "
        "itself (local), if the experiment allows it. both (the default): all that it allows.",
    )
    option(parser, "--out DIR", options.folder,
           "Folder for runs, result.json and the picture. Default: NAME-DATE-TIME in this "
           "folder.")  # fmt: skip
    option(parser, "--dilate N", divisor, "Divide the lab's rates by N. Default: as the experiment says.")
    option(parser, f"--switch {switch_choice.METAVAR}", switch_choice.checked,
           "Switch of the lab (crosscut lab up --help). Default: as the experiment says.")  # fmt: skip
    option(parser, "--repetitions N", whole(1), "Repetitions on the lab. Default: as the experiment says.")
    flag(parser, "--quick", "Of a paper: only simulate, which takes a few minutes.")
    flag(
        parser,
        "--list",
        "List the papers with what is compared of each; with NAME, every item of that paper.",
    )
    flag(parser, "--json", "Print one JSON object on standard output.")
    flag(parser, "--quiet", "Show no progress.")


def execute(args: argparse.Namespace) -> int:
    from crosscut.base import core
    from crosscut.reproduce import experiment, known

    if args.experiment is None or args.list:
        _refuse_options(args)
        return _list_papers(args) if args.list else _list(args)
    checked_words(args.words)
    if args.experiment in experiment.paper_names():
        return _reproduce_paper(args)
    if args.quick:
        raise UsageError("--quick: for a whole paper; of an experiment, --on sim is the quick part")
    file = experiment.find(args.experiment)
    read = experiment.read(file)
    places = tuple(place for place in _places(args.on) if place in read.places)
    if not places:
        raise UsageError(f"--on {args.on}: {read.name} has no series that runs there")
    known.check(file, read, places, core.load())
    _refuse_lab(places)
    folder = _folder(args.out, read.name)
    with keeping(folder):
        return _reproduce(args, read, places, folder)


def _places(on: str | None) -> tuple[Realm, ...]:
    from crosscut.reproduce import experiment

    return experiment.PLACES if on in (None, "both") else (Realm(on),)


def _refuse_options(args: argparse.Namespace) -> None:
    """Raises UsageError for an option that needs an experiment."""
    for name in ("on", "out", "dilate", "switch", "repetitions", "quick"):
        if getattr(args, name):
            raise UsageError(f"--{name}: for an experiment to repeat, not for a list")


def _refuse_lab(places: tuple[Realm, ...]) -> None:
    from crosscut.lab import lifecycle

    if Realm.EMULATED in places and (reason := lifecycle.unavailable()) is not None:
        raise UsageError(f"no lab can be built: {reason}; --on sim needs no lab")


def _list(args: argparse.Namespace) -> int:
    from crosscut.reports.terminal.screen import Rows, screen_for
    from crosscut.reproduce import experiment

    found = [experiment.read(experiment.find(name)) for name in experiment.names()]
    if args.json:
        listed = [
            {"name": one.name, "title": one.title, "source": one.source, "on": list(one.places)}
            for one in found
        ]
        print(json.dumps(listed))
        return EXIT_OK
    rows = Rows("<experiment", "<--on", "<what")
    for one in found:
        rows.add(one.name, ", ".join(one.places), one.title)
    screen = screen_for()
    screen.table(rows)
    screen.line(f"Whole papers: {', '.join(experiment.paper_names())}")
    screen.command("crosscut reproduce --list: how much of each paper is compared")
    return EXIT_OK


def _list_papers(args: argparse.Namespace) -> int:
    from crosscut.reports.terminal.screen import screen_for
    from crosscut.reproduce import experiment, paper_report, papers

    found = [
        papers.read(name) for name in ([args.experiment] if args.experiment else experiment.paper_names())
    ]
    if args.json:
        print(json.dumps([paper_report.as_json(one) for one in found]))
    elif args.experiment:
        paper_report.render(screen_for(), found[0])
    else:
        paper_report.render_all(screen_for(), found)
    return EXIT_OK


def _folder(out: Path | None, name: str) -> Path:
    folder = (out or Path(f"{name}-{time.strftime('%Y%m%d-%H%M%S')}")).absolute()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"--out {folder} already exists and is not empty; name another folder")
    need_folder("--out", folder)
    refuse_bytes("--out", folder)
    return folder


@contextlib.contextmanager
def keeping(folder: Path) -> Iterator[None]:
    """Makes the folder. After an error, removes it if it is empty, or else says what is in it."""
    folder.mkdir(exist_ok=True)
    try:
        yield
    except (KeyboardInterrupt, CrosscutError) as error:
        with contextlib.suppress(OSError):
            folder.rmdir()
        kept = f"what was measured is in {folder}" if folder.exists() else ""
        if isinstance(error, KeyboardInterrupt | Interrupted):
            raise Interrupted(f"interrupted; {kept}" if kept else "interrupted") from None
        if kept:
            print(f"crosscut: {kept}", file=sys.stderr)
        raise


def _tell(args: argparse.Namespace, text: str) -> None:
    if not args.quiet:
        print(f"crosscut: {text}", file=sys.stderr)


def _how(args: argparse.Namespace, folder: Path, listener: Listener, before: str = "") -> ReproduceOptions:
    """`before` begins every line of progress."""
    from crosscut.reproduce.running import ReproduceOptions

    def told(text: str) -> None:
        _tell(args, before + text)

    return ReproduceOptions(
        tuple(args.words), folder, listener, told, args.dilate, args.repetitions, args.switch
    )


def _reproduce(args: argparse.Namespace, read: Experiment, places: tuple[Realm, ...], folder: Path) -> int:
    from crosscut.reports.terminal.screen import screen_for
    from crosscut.reproduce import repeating, report

    # For the time when a lab is built or removed: a session handles signals itself.
    with reporter(quiet=True) as listener:
        done = repeating.repeat(read, places, _how(args, folder, listener))
    if args.json:
        print(json.dumps(done.document))
        return EXIT_OK
    screen = screen_for()
    report.render(screen, read, done.rows, done.summaries, done.measured)
    for path in done.pictures:
        screen.command(f"picture: {path}")
    screen.command(f"runs, {repeating.RESULT}: {folder}")
    return EXIT_OK


def _reproduce_paper(args: argparse.Namespace) -> int:
    """Repeats every experiment of a paper, and writes a page about all of it."""
    from crosscut.base import core
    from crosscut.reports.terminal.screen import screen_for
    from crosscut.reproduce import experiment, known, paper_page, paper_report, papers, repeating, report

    if args.quick and args.on is not None:
        raise UsageError("--quick only simulates: leave out --on")
    paper = papers.read(args.experiment)
    asked = _places(Realm.SIMULATED.value if args.quick else args.on)
    todo, left_out = [], {}
    for name in paper.experiments:
        file = experiment.find(name)
        read = experiment.read(file)
        if places := tuple(place for place in asked if place in read.places):
            known.check(file, read, places, core.load())
            todo.append((read, places))
        else:
            left_out[name] = f"it runs only on {', '.join(read.places)}"
    if not todo:
        raise UsageError(
            f"{paper.name}: none of its experiments runs there; crosscut reproduce --list {paper.name}"
        )
    _refuse_lab(tuple(place for _, places in todo for place in places))
    folder = _folder(args.out, paper.name)
    if on_labs := sum(Realm.EMULATED in places for _, places in todo):
        _tell(
            args,
            f"{on_labs} of {units.count(len(todo), 'experiment')} need labs, which takes minutes to an "
            "hour each; --quick only simulates",
        )
    done: list[repeating.RepeatedExperiment] = []
    left_out |= {read.name: "it was not completed" for read, _ in todo}
    with keeping(folder), reporter(quiet=True) as listener:
        try:
            for number, (read, places) in enumerate(todo, 1):
                own = folder / read.name
                own.mkdir()
                before = f"{number} of {len(todo)}, {read.name}: "
                done.append(repeating.repeat(read, places, _how(args, own, listener, before)))
                del left_out[read.name]
        finally:  # after an error, with what was done before
            made = paper_page.write(folder, paper, done, left_out, time.strftime("%Y-%m-%d"))
    if args.json:
        print((folder / repeating.RESULT).read_text(encoding="utf-8"))
        return EXIT_OK
    screen = screen_for()
    screen.line(paper.title, "bold")
    for one in done:
        for sentence in report.summary_sentences(one.experiment, one.summaries):
            screen.line(f"{one.experiment.name}, {sentence}")
    for name, why in left_out.items():
        screen.line(f"{name} is left out: {why}", "dim")
    screen.line(paper_report.counts(paper), "bold")
    screen.command(f"report: {made}")
    return EXIT_OK
