"""Hints name what was probably meant, and nothing that merely shares a suffix."""

from __future__ import annotations

from pathlib import Path

import pytest

from crosscut.base.spelling import hint, missing, sentence


@pytest.mark.parametrize(
    ("wrong", "hinted"),
    [("nigth.zarr", "; did you mean night.zarr?"), ("pp.zarr", ""), ("nigth", ""), ("x", "")],
)
def test_a_missing_file_has_a_hint_only_if_its_stem_is_alike(tmp_path: Path, wrong: str, hinted: str) -> None:
    (tmp_path / "night.zarr").touch()
    assert missing(tmp_path / wrong) == f"there is no such file{hinted}"


def test_a_name_without_its_suffix_is_found_among_files_or_directories_as_asked(tmp_path: Path) -> None:
    (tmp_path / "night.zarr").mkdir()
    (tmp_path / "night.toml").touch()
    assert missing(tmp_path / "night", "directory") == "there is no such directory; did you mean night.zarr?"
    assert missing(tmp_path / "night") == "there is no such file; did you mean night.toml?"


def test_a_word_that_is_like_no_name_has_no_hint() -> None:
    assert hint("frobnicate", ["locate", "price"]) == ""
    assert hint("rum", ["run", "report"]) == "; did you mean run?"


def test_a_sentence_begins_with_a_capital_unless_it_begins_with_a_name() -> None:
    assert sentence("check, then draw") == "Check, then draw."
    assert sentence("n0012 is slow") == "n0012 is slow."
