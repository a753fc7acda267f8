"""A pattern of one's own, one C++ file and one line each, in a copy of the core: listed, measured, drawn."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NETWORK = "xibalba-e7-config1"  # four modules of 32 hosts, with a thin link each
BUILD_SECONDS = 1800

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(shutil.which("cmake") is None, reason="needs cmake"),
    pytest.mark.skipif(shutil.which("c++") is None, reason="needs a C++ compiler"),
]


def add_pattern(tree: Path, name: str, like: str) -> None:
    """A file that does what `like` does, under a name that no Python knows; and its line."""
    patterns = tree / "core" / "patterns"
    text = (patterns / f"{like}.cpp").read_text(encoding="utf-8")
    for old, new in ((f'.name = "{like}"', f'.name = "{name}"'), (f"    {like},\n", f"    {name},\n")):
        assert text.count(old) == 1
        text = text.replace(old, new)
    (patterns / f"{name}.cpp").write_text(text, encoding="utf-8")
    with (patterns / "patterns.def").open("a", encoding="utf-8") as file:
        file.write(f"CROSSCUT_PATTERN({name})\n")


@pytest.fixture(scope="module")
def own_core(tmp_path_factory: pytest.TempPathFactory) -> Path:
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


def crosscut(core: Path, *words: str | Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "crosscut", *words], capture_output=True, text=True, check=False, timeout=300,
        env=os.environ | {"CROSSCUT_CORE": str(core)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_dense_pattern_of_ones_own_is_listed_drawn_and_searched_for_findings(
    own_core: Path, tmp_path: Path
) -> None:
    out, page = tmp_path / "run.zarr", tmp_path / "report.html"
    assert "circling" in crosscut(own_core, "list")
    crosscut(own_core, "run", "circling", "--on", f"sim:{NETWORK}", "--out", out, "--quiet")
    shown = crosscut(own_core, "show", out)
    assert "circling over sim: 128 ranks, 127 phases" in shown
    assert "median phase" in shown
    found = json.loads(crosscut(own_core, "show", out, "--findings", "--json"))["findings"]
    assert "4 groups of 32 hosts" in " ".join(finding["what"] for finding in found)
    crosscut(own_core, "report", out, "--out", page)
    text = page.read_text(encoding="utf-8")
    assert "4 groups of 32 hosts" in text
    assert "circling" in text
    assert '-phases"' in text


def test_a_sweep_of_ones_own_is_drawn_over_sizes_and_tells_no_findings(
    own_core: Path, tmp_path: Path
) -> None:
    out, page = tmp_path / "run.zarr", tmp_path / "report.html"
    crosscut(own_core, "run", "bouncing", "-n", "4", "--backend", "null", "--maximum", "64KiB",
             "--out", out, "--quiet")  # fmt: skip
    assert "Half round trip and rate" in crosscut(own_core, "show", out)
    assert json.loads(crosscut(own_core, "show", out, "--findings", "--json"))["findings"] == []
    crosscut(own_core, "report", out, "--out", page)
    assert '-sweep-time"' in page.read_text(encoding="utf-8")
