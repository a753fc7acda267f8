"""`crosscut build-smpi`: how it calls CMake."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pytest

from crosscut.cli import build_smpi
from crosscut.places import smpi

# Stands in for cmake: records its arguments and, to build, leaves a file with the target's name.
CMAKE = """#!/bin/sh
echo "$*" >> "$(dirname "$0")/words"
[ "$1" = --build ] || exit 0
mkdir -p "$2/core"
echo built > "$2/core/$4"
"""


def test_the_player_is_built_with_smpi_and_put_into_the_requested_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in (("cmake", CMAKE), ("smpirun", "#!/bin/sh\necho SimGrid version 3.32\n")):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))  # cmake next to it comes first
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    parser = argparse.ArgumentParser()
    build_smpi.add_arguments(parser)
    assert build_smpi.execute(parser.parse_args(["--out", str(tmp_path / "player")])) == 0
    assert (tmp_path / "player").read_text() == "built\n"
    configured, built = (tmp_path / "words").read_text().splitlines()
    assert "-DCROSSCUT_SMPI=ON" in configured.split()
    assert f"--target {smpi.PLAYER} " in built
