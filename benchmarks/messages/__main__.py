"""Count the messages of six NAS benchmarks, class B on 16 ranks, and write docs/reference/lobosco.md:
python -m benchmarks.messages. With another class or other ranks it prints the page instead."""

from __future__ import annotations

import argparse
import sys
import tempfile
import tomllib
from contextlib import ExitStack
from pathlib import Path

from benchmarks.messages import counting, page
from benchmarks.processes import BenchmarkError
from crosscut.base.errors import CrosscutError
from crosscut.workloads import applications

ROOT = Path(__file__).resolve().parents[2]
PAPER = Path(__file__).with_name("lobosco2002.toml")
PAGE = ROOT / "docs" / "reference" / "lobosco.md"
COUNTS = ROOT / "tests" / "golden" / "messages" / "class-b-16.json"


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
    try:
        counted = counting.load(COUNTS) if options.again else _count(options)
    except (BenchmarkError, CrosscutError, OSError) as error:
        print(f"benchmarks.messages: {error}", file=sys.stderr)
        return 1
    text = page.page(counted, tomllib.loads(PAPER.read_text(encoding="utf-8")))
    if not the_papers:
        print(text)
        return 0
    if not options.again:
        counting.save(COUNTS, counted)
    PAGE.write_text(text, encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0


def _count(options: argparse.Namespace) -> list[counting.Counted]:
    with ExitStack() as stack:
        if options.profiles is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="crosscut-messages-")))
        else:
            folder = options.profiles
            folder.mkdir(parents=True, exist_ok=True)
        found = []
        for workload in applications.find(page.NAMES):
            print(f"{workload.name}, class {options.problem_class}, {options.ranks} ranks", file=sys.stderr)
            found.append(counting.count(workload, options.problem_class, options.ranks, folder))
        return found


if __name__ == "__main__":
    sys.exit(main())
