"""The record of a benchmark of generated networks, so that a stopped one resumes.

Each line has one result. Lines of other versions of the sources do not count.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from multiprocessing import Pool
from pathlib import Path
from typing import Any, TypeVar

Case = TypeVar("Case", bound=Hashable)
Result = TypeVar("Result")
_HERE = Path(__file__).parent
_PACKAGE = _HERE.parents[1] / "src/crosscut"


def digest(*packages: str) -> str:
    """Returns a digest of the sources that decide what is found: these packages of crosscut, and this one."""
    folders = (_HERE, *(_PACKAGE / name for name in packages))
    files = sorted(path for folder in folders for path in folder.rglob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:12]


def completed(
    file: Path, source: str, cases: Sequence[Case], work: Callable[[Case], Result], jobs: int,
    plain: Callable[[Result], Any], parse: Callable[[Any], Result],
) -> Mapping[Case, Result]:  # fmt: skip
    """Returns the results of all cases; runs those that the record lacks, in `jobs` processes.

    `plain`, `parse`: to JSON, and back.
    """
    keys = {json.dumps(case): case for case in cases}
    known: dict[Case, Result] = {}
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
        try:
            entry = json.loads(line)
        except ValueError:  # the last line of a killed run
            continue
        if entry["source"] == source and (case := keys.get(json.dumps(entry["case"]))) is not None:
            known[case] = parse(entry["result"])
    wanted = [case for case in cases if case not in known]
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="utf-8") as record, Pool(jobs) as pool:
        for number, (case, result) in enumerate(zip(wanted, pool.imap(work, wanted), strict=True), 1):
            known[case] = result
            entry = {"source": source, "case": case, "result": plain(result)}
            print(json.dumps(entry), file=record, flush=True)
            print(f"\r{number} of {len(wanted)} networks ", end="", file=sys.stderr)
    return {case: known[case] for case in cases}
