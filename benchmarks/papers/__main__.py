"""Repeats the papers' experiments at one place and writes docs/reference/papers.md.

    python -m benchmarks.papers --on sim                   all that can be simulated (three minutes)
    python -m benchmarks.papers --on lab --only kurmann-tables-3-5
    python -m benchmarks.papers --again                    only write the page

Labs and this machine need a quiet machine.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.papers import kept, page
from crosscut.base import core
from crosscut.base.errors import CrosscutError
from crosscut.reproduce import experiment, known, papers, repeating
from crosscut.reproduce.running import ReproduceOptions
from crosscut.run.realm import Realm
from crosscut.session.progress import reporter


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--on", choices=[place.value for place in experiment.PLACES], default="sim")
    parser.add_argument("--only", nargs="+", metavar="EXPERIMENT")
    parser.add_argument("--again", action="store_true", help="write the page from what is kept")
    asked = parser.parse_args()
    figures = kept.load()
    if not asked.again:
        place = Realm(asked.on)
        for name in asked.only or [
            one for paper in experiment.paper_names() for one in papers.read(paper).experiments
        ]:
            _measure(name, place, figures)
            kept.store(figures)
    page.PAGE.write_text(page.text(figures), encoding="utf-8")
    return 0


def _measure(name: str, place: Realm, figures: kept.Figures) -> None:
    file = experiment.find(name)
    read = experiment.read(file)
    if place not in read.places:
        return
    known.check(file, read, (place,), core.load())
    print(f"{name} on {place}", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(prefix="crosscut-papers-") as folder, reporter(quiet=True) as listener:
        how = ReproduceOptions(("python", "-m", "benchmarks.papers"), Path(folder), listener, lambda _: None)
        try:
            done = repeating.repeat(read, (place,), how)
        except CrosscutError as error:
            print(f"{name}: {error}", file=sys.stderr)
            return
    kept.add(figures, done, time.strftime("%Y-%m-%d"))


if __name__ == "__main__":
    sys.exit(main())
