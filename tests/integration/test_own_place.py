"""A place of one's own, one file and one line in a copy of the program: offered, measured on, told."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from crosscut.base import core

SOURCE = Path(__file__).resolve().parents[2] / "src" / "crosscut"
PLACE = """
from contextlib import contextmanager

from crosscut.places.base import Hooks, Place, PlaceOption, configuration, spawn
from crosscut.places.mpi_programs import LauncherSite


class Elsewhere(Place):
    name = "elsewhere"
    help = "where a test starts ranks"
    options = (PlaceOption("colour", "NAME", "In which colour.", str),)
    starts_mpi = True

    def default_ranks(self, argument, own):
        return 3

    def start(self, options):
        colour = {"colour": options.own.get("colour", "none")}
        first_line = configuration(options, self.name, "127.0.0.1")
        return spawn([options.executable, "node"], first_line, Hooks(attributes=lambda: colour))

    @contextmanager
    def mpi_site(self, launch):
        yield LauncherSite(launch)


PLACE = Elsewhere()
"""
# An editable installation finds the working tree first.
START = (
    "import sys; "
    "sys.meta_path[:] = [one for one in sys.meta_path if 'ScikitBuild' not in type(one).__name__]; "
    "sys.path.insert(0, sys.argv.pop(1)); "
    "from crosscut.cli import main; sys.exit(main(sys.argv[1:]))"
)

pytestmark = pytest.mark.skipif(core.find_executable(core.CORE) is None, reason="crosscut-core is not built")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    tree = tmp_path / "tree"
    shutil.copytree(SOURCE, tree / "crosscut", ignore=shutil.ignore_patterns("__pycache__"))
    places = tree / "crosscut" / "places"
    (places / "elsewhere.py").write_text(PLACE, encoding="utf-8")
    text = (places / "__init__.py").read_text(encoding="utf-8")
    assert text.count('    "local",\n') == 1
    (places / "__init__.py").write_text(text.replace('    "local",\n', '    "local",\n    "elsewhere",\n'))
    return tree


def crosscut(tree: Path, *words: str | Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", START, tree, *words], capture_output=True, text=True, check=False, timeout=120,
        env=os.environ | {"CROSSCUT_CORE": str(core.find_executable(core.CORE))},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_place_of_ones_own_is_offered_measured_on_and_told(tree: Path, tmp_path: Path) -> None:
    out, page = tmp_path / "run.zarr", tmp_path / "report.html"
    assert "where a test starts ranks" in crosscut(tree, "list")
    assert "where a test starts ranks" in crosscut(tree, "doctor")
    assert "--colour NAME" in crosscut(tree, "run", "--help")
    assert "elsewhere" in crosscut(tree, "workload", "run", "--help")
    crosscut(tree, "run", "aapc", "--on", "elsewhere", "--backend", "null", "--colour", "red", "--out", out,
             "--quiet")  # fmt: skip
    attributes = json.loads((out / "zarr.json").read_text())["attributes"]
    assert (attributes["place"], attributes["colour"]) == ("elsewhere", "red")
    assert "aapc over null: 3 ranks" in crosscut(tree, "show", out)
    crosscut(tree, "report", out, "--out", page)
    assert "elsewhere" in page.read_text(encoding="utf-8")
