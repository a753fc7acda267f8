"""The ledger of searches: nothing that was written is lost, and what is wrong is named."""

from __future__ import annotations

import json
import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from crosscut.base.errors import CrosscutError, UsageError
from crosscut.health import ledger
from crosscut.health.ledger import HealthSearch, NodeFault

ONE = HealthSearch("2026-11-01T22:00:00Z", ("n1",), (NodeFault("n2", "lossy host", "loses packets"),), "/r")
TWO = HealthSearch("2026-11-02T22:00:00Z", ("n1", "n2"))


def test_searches_are_read_in_the_order_of_their_times(tmp_path: Path) -> None:
    file = tmp_path / "new" / "ledger.jsonl"
    assert ledger.read(file) == []
    ledger.add(file, TWO)
    ledger.add(file, ONE)
    first, second = ledger.read(file)
    assert (first.time, second) == (ONE.time, TWO)
    assert math.isnan(first.faults[0].share)


def test_a_line_that_a_crash_cut_short_is_left_out_and_the_next_is_whole(tmp_path: Path) -> None:
    file = tmp_path / "ledger.jsonl"
    ledger.add(file, ONE)
    whole = file.read_bytes()
    for length in range(len(whole)):
        file.write_bytes(whole + whole[:length])
        assert len(ledger.read(file)) == 1
        ledger.add(file, TWO)
        assert ledger.read(file)[-1] == TWO


@pytest.mark.parametrize(
    "line",
    ["{}", '{"time": "yesterday", "sound": []}', '{"time": 7, "sound": []}',
     '{"time": "2026-11-01", "sound": {}}', "x"],
)  # fmt: skip
def test_a_line_that_is_no_search_is_named(tmp_path: Path, line: str) -> None:
    file = tmp_path / "ledger.jsonl"
    ledger.add(file, ONE)
    file.write_text(file.read_text() + line + "\n")
    with pytest.raises(UsageError, match=r"ledger.jsonl:2: is no search: .*; remove the line"):
        ledger.read(file)


def test_a_ledger_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CrosscutError, match="name a file that can be written with --ledger"):
        ledger.add(tmp_path / "file" / "ledger.jsonl", ONE)


def test_a_ledger_that_has_grown_too_large_forgets_its_older_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "ledger.jsonl"
    days = [HealthSearch(f"2026-11-{day:02}T22:00:00Z", ("n1",)) for day in range(1, 31)]
    ledger.add(file, days[0])
    monkeypatch.setattr(ledger, "LARGEST_BYTES", 10 * file.stat().st_size)
    for day in days[1:]:
        ledger.add(file, day)
        assert file.stat().st_size <= 1.2 * ledger.LARGEST_BYTES
    kept = ledger.read(file)
    assert 5 <= len(kept) <= 11
    assert kept == days[-len(kept) :]
    assert list(tmp_path.iterdir()) == [file]


def test_a_search_is_added_to_the_file_that_replaced_the_one_it_waited_for(tmp_path: Path) -> None:
    file, new = tmp_path / "ledger.jsonl", tmp_path / "new"
    with ThreadPoolExecutor() as pool, ledger.locked(file):
        waiting = pool.submit(ledger.add, file, TWO)
        new.write_bytes(b"")
        new.replace(file)
    waiting.result()
    assert ledger.read(file) == [TWO]


def test_a_line_is_json_that_other_programs_read(tmp_path: Path) -> None:
    ledger.add(tmp_path / "l", ONE)
    document = json.loads((tmp_path / "l").read_text())
    assert document["faults"][0] == {
        "node": "n2", "kind": "lossy host", "says": "loses packets", "share": None, "where": "",
    }  # fmt: skip
