"""The table of docs/how-it-locates.md is that of the scores kept beside the benchmark."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from benchmarks.truth.__main__ import Case, _tables
from benchmarks.truth.score import Score

ROOT = Path(__file__).parents[2]


def test_the_page_has_the_table_of_the_kept_scores() -> None:
    known: dict[Case, Score] = {}
    with gzip.open(ROOT / "benchmarks/truth/scores.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            entry = json.loads(line)
            name, seed, healthy = entry["case"]
            known[name, seed, healthy] = Score.of_json(entry["result"])
    page = (ROOT / "docs/how-it-locates.md").read_text(encoding="utf-8")
    assert "\n".join(_tables(known)) in page
