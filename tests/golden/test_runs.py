"""Stored runs of every schema version and variation are read as on the day they were stored.

To add a run, add its folder and NAME.json to `runs`.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from golden_run import expected, redacted, summary

from crosscut.run.format import ARRAYS, CHECKSUM, SCHEMA_VERSION

RUNS = sorted(path for path in (Path(__file__).parent / "runs").iterdir() if path.is_dir())


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.name)
def test_a_stored_run_is_read_shown_exported_and_found_whole(path: Path) -> None:
    known, found = expected(path), summary(path)
    # Later versions may say more about an old run, but not less.
    missing = set(known["attributes"]) - set(found["attributes"])
    assert not missing
    row, columns = found["first_row"], known["first_row"]
    assert {name: row.get(name) for name in columns} == columns
    for name, array in known["arrays"].items():
        assert found["arrays"][name] == array, name
    same = ("schema", "state", "cells", "phase_bytes_per_second", "rows", "headline")
    assert {key: found[key] for key in same} == {key: known[key] for key in same}


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.name)
def test_a_stored_run_names_no_machine(path: Path) -> None:
    text = (path / "zarr.json").read_text(encoding="utf-8")
    assert redacted(text) == text
    assert not re.search(r"/(?:tmp|home|root|work)\b", text)


def test_every_array_and_schema_version_is_in_a_stored_run() -> None:
    known = [expected(path) for path in RUNS]
    assert {one["schema"]["version"] for one in known} == set(range(1, SCHEMA_VERSION + 1))
    assert ARRAYS.keys() - {CHECKSUM} <= {name for one in known for name in one["arrays"]}
