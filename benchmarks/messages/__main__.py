"""Count the messages of six NAS benchmarks, class B on 16 ranks, of three also on 8, and write
docs/reference/lobosco.md: python -m benchmarks.messages. With another class or other ranks it prints the page
instead."""

from __future__ import annotations

import argparse
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from benchmarks.messages import counting, page
from benchmarks.processes import BenchmarkError
from crosscut.base.errors import CrosscutError
from crosscut.workloads import applications

ROOT = Path(__file__).resolve().parents[2]
PAPER = Path(__file__).with_name("lobosco2002.toml")
PAGE = ROOT / "docs" / "reference" / "lobosco.md"
STORED = ROOT / "tests" / "golden" / "messages"
COUNTS = STORED / "class-b-16.json"
COUNTS_ON_FEWER = STORED / "class-b-8.json"


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.messages", description=__doc__)
    parser.add_argument("--class", dest="problem_class", choices=applications.CLASSES, default=page.PAPERS[0])
    parser.add_argument("--ranks", type=int, default=page.PAPERS[1], help="4 or 16, valid for all six")
    parser.add_argument("--profiles", type=Path, metavar="FOLDER", help="keep profiles here and reuse them")
    parser.add_argument("--again", action="store_true", help="write the page from the stored counts")
    options = parser.parse_args()
    if options.ranks not in (4, 16):
        parser.error(f"--ranks {options.ranks}: 4 or 16; SP takes square numbers, CG powers of two")
    the_papers = (options.problem_class, options.ranks) == page.PAPERS
    if options.again and not the_papers:
        parser.error("--again: only the counts of class B on 16 ranks are stored")
    fewer: list[counting.Counted] = []
    try:
        if options.again:
            counted, fewer = counting.load(COUNTS), counting.load(COUNTS_ON_FEWER)
        else:
            with ExitStack() as stack:
                folder = options.profiles or _temporary(stack)
                counted = _count(page.NAMES, options.problem_class, options.ranks, folder)
                if the_papers:
                    fewer = _count(page.ON_FEWER, options.problem_class, page.FEWER, folder)
    except (BenchmarkError, CrosscutError, OSError) as error:
        print(f"benchmarks.messages: {error}", file=sys.stderr)
        return 1
    text = page.page(counted, tomllib.loads(PAPER.read_text(encoding="utf-8")), fewer)
    if not the_papers:
        print(text)
        return 0
    if not options.again:
        counting.save(COUNTS, counted)
        counting.save(COUNTS_ON_FEWER, fewer)
    PAGE.write_text(text, encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0


def _temporary(stack: ExitStack) -> Path:
    return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="crosscut-messages-")))


def _count(names: Sequence[str], problem_class: str, ranks: int, folder: Path) -> list[counting.Counted]:
    where = folder / f"{problem_class}-{ranks}"
    where.mkdir(parents=True, exist_ok=True)
    found = []
    for workload in applications.find(names):
        print(f"{workload.name}, class {problem_class}, {ranks} ranks", file=sys.stderr)
        found.append(counting.count(workload, problem_class, ranks, where))
    return found


if __name__ == "__main__":
    sys.exit(main())
