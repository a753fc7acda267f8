"""Adds a place, a kind of finding and patterns to a copy of the program, with one file and one line each:
they are offered on the command line, measured, and shown in terminal, report and JSON."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from crosscut.base import core

ROOT = Path(__file__).resolve().parents[2]
NETWORK = "xibalba-e7-config1"  # four modules of 32 hosts, each with a thin link
BUILD_SECONDS = 1800
PLACE = """
from contextlib import contextmanager

from crosscut.places.base import Hooks, Place, PlaceOption, configuration, spawn
from crosscut.places.mpi import LauncherSite


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
FINDER = """
from crosscut.analysis.findings.kinds import FindingKind
from crosscut.analysis.findings.model import Finding


def of_run(evidence):
    odd = [name for rank, name in enumerate(evidence.names) if rank % 2]
    return [Finding(FindingKind.ODD, f"{len(odd)} hosts are odd", hosts=tuple(odd))]
"""
# An editable installation finds the working tree first.
START = (
    "import sys; "
    "sys.meta_path[:] = [one for one in sys.meta_path if 'ScikitBuild' not in type(one).__name__]; "
    "sys.path.insert(0, sys.argv.pop(1)); "
    "from crosscut.cli import main; sys.exit(main(sys.argv[1:]))"
)

pytestmark = pytest.mark.skipif(core.find_executable(core.CORE) is None, reason="crosscut-core is not built")


def add_line(file: Path, after: str, line: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert text.count(after) == 1
    file.write_text(text.replace(after, after + line), encoding="utf-8")


def add_place(tree: Path) -> None:
    places = tree / "crosscut" / "places"
    (places / "elsewhere.py").write_text(PLACE, encoding="utf-8")
    add_line(places / "__init__.py", '    "local",\n', '    "elsewhere",\n')


def add_finding_kind(tree: Path) -> None:
    findings = tree / "crosscut" / "analysis" / "findings"
    (findings / "odd.py").write_text(FINDER, encoding="utf-8")
    lines = (findings / "kinds.py").read_text(encoding="utf-8").splitlines(keepends=True)
    (drift,) = (line for line in lines if line.startswith("    DRIFT = "))
    add_line(findings / "kinds.py", drift, '    ODD = "odd hosts", Sort.FAULT, ("routes",), "odd"\n')


def add_pattern(tree: Path, name: str, like: str) -> None:
    """Adds a copy of the pattern `like` under a name that Python does not know, and its line."""
    patterns = tree / "core" / "patterns"
    text = (patterns / f"{like}.cpp").read_text(encoding="utf-8")
    for old, new in ((f'.name = "{like}"', f'.name = "{name}"'), (f"    {like},\n", f"    {name},\n")):
        assert text.count(old) == 1
        text = text.replace(old, new)
    (patterns / f"{name}.cpp").write_text(text, encoding="utf-8")
    with (patterns / "patterns.def").open("a", encoding="utf-8") as file:
        file.write(f"CROSSCUT_PATTERN({name})\n")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A folder with a copy of the package `crosscut` to change."""
    tree = tmp_path / "tree"
    shutil.copytree(
        ROOT / "src" / "crosscut", tree / "crosscut", ignore=shutil.ignore_patterns("__pycache__")
    )
    return tree


@pytest.fixture(scope="module")
def own_core(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The core with two more patterns."""
    if shutil.which("cmake") is None or shutil.which("c++") is None:
        pytest.skip("needs cmake and a C++ compiler")
    tree = tmp_path_factory.mktemp("own") / "tree"
    shutil.copytree(ROOT / "core", tree / "core")
    for name in ("CMakeLists.txt", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree / name)
    add_pattern(tree, "circling", "aapc")
    add_pattern(tree, "bouncing", "pingpong")
    build = tree / "build"
    options = ("-DCMAKE_BUILD_TYPE=Debug", "-DCROSSCUT_MPI=OFF", "-DCROSSCUT_TESTS=OFF",
               f"-DPython_EXECUTABLE={sys.executable}")  # fmt: skip
    for words in (["-S", tree, "-B", build, *options], ["--build", build, "--target", "crosscut-core"]):
        done = subprocess.run(
            ["cmake", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=BUILD_SECONDS, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-4000:]
    return build / "core" / "crosscut-core"


def crosscut(tree: Path, *words: str | Path, own_core: Path | None = None) -> str:
    done = subprocess.run(
        [sys.executable, "-c", START, tree, *words], capture_output=True, text=True, check=False, timeout=300,
        env=os.environ
        | {
            "CROSSCUT_CORE": str(own_core or core.find_executable(core.CORE)),
            "CROSSCUT_NETWORKS": str(ROOT / "networks"),
        },
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_added_place_is_offered_measured_on_and_named(tree: Path, tmp_path: Path) -> None:
    add_place(tree)
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


def test_an_added_kind_of_finding_is_shown_in_terminal_report_and_json(tree: Path, tmp_path: Path) -> None:
    add_finding_kind(tree)
    out, page = tmp_path / "run.zarr", tmp_path / "report.html"
    network = tmp_path / "network.toml"
    network.write_text('[generator]\nkind = "crossbar"\nhosts = 5\nrate = "1 Gbit/s"\n')
    crosscut(tree, "run", "aapc", "--on", f"sim:{network}", "--out", out, "--quiet")
    assert "2 hosts are odd" in crosscut(tree, "show", out, "--findings")
    (odd,) = json.loads(crosscut(tree, "show", out, "--findings", "--json"))["findings"]
    assert (odd["kind"], odd["fault"], odd["what"]) == ("odd hosts", True, "2 hosts are odd")
    crosscut(tree, "report", out, "--out", page)
    assert "2 hosts are odd" in page.read_text(encoding="utf-8")


@pytest.mark.long
def test_an_added_dense_pattern_is_listed_drawn_and_searched_for_added_findings_at_an_added_place(
    own_core: Path, tree: Path, tmp_path: Path
) -> None:
    add_place(tree)
    add_finding_kind(tree)
    assert "circling" in crosscut(tree, "list", own_core=own_core)
    elsewhere = ("--on", "elsewhere", "--backend", "null", "-n", "6")
    for name, words in (("measured", elsewhere), ("simulated", ("--on", f"sim:{NETWORK}"))):
        out, page = tmp_path / f"{name}.zarr", tmp_path / f"{name}.html"
        crosscut(tree, "run", "circling", *words, "--out", out, "--quiet", own_core=own_core)
        shown = crosscut(tree, "show", out, own_core=own_core)
        assert "circling over " in shown
        assert "hosts are odd" in crosscut(tree, "show", out, "--findings", own_core=own_core)
        crosscut(tree, "report", out, "--out", page, own_core=own_core)
        text = page.read_text(encoding="utf-8")
        assert "hosts are odd" in text
        assert "circling" in text
        assert '-phases"' in text
    assert "median phase" in shown
    found = json.loads(crosscut(tree, "show", out, "--findings", "--json", own_core=own_core))["findings"]
    told = " ".join(finding["what"] for finding in found)
    assert "64 hosts are odd" in told
    assert "4 groups of 32 hosts" in told
    assert "4 groups of 32 hosts" in text


@pytest.mark.long
def test_an_added_sweep_is_drawn_over_sizes_and_has_no_findings(
    own_core: Path, tree: Path, tmp_path: Path
) -> None:
    out, page = tmp_path / "run.zarr", tmp_path / "report.html"
    crosscut(tree, "run", "bouncing", "-n", "4", "--backend", "null", "--maximum", "64KiB",
             "--out", out, "--quiet", own_core=own_core)  # fmt: skip
    assert "Half round trip and rate" in crosscut(tree, "show", out, own_core=own_core)
    told = crosscut(tree, "show", out, "--findings", "--json", own_core=own_core)
    assert json.loads(told)["findings"] == []
    crosscut(tree, "report", out, "--out", page, own_core=own_core)
    assert '-sweep-time"' in page.read_text(encoding="utf-8")
