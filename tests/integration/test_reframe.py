"""The test class of examples/reframe under the real ReFrame, on this machine."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from crosscut.base.core import CORE, find_executable

EXAMPLE = Path(__file__).parents[2] / "examples" / "reframe"
REFRAME = Path(sys.executable).with_name("reframe")
pytestmark = [
    pytest.mark.skipif(find_executable(CORE) is None, reason="crosscut-core is not built"),
    pytest.mark.skipif(
        importlib.util.find_spec("reframe") is None, reason="needs ReFrame: pip install ReFrame-HPC"
    ),
]
TESTS = """
import reframe as rfm
from crosscut_check import CrosscutCheck

class Here(CrosscutCheck):
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    place = "local"
    spec = "kept.toml"
    check_options = ["-n 2", "--quiet"]

@rfm.simple_test
class Kept(Here):
    reference = {"*": {"every_route_worst": (1, -0.05, None, "B/s")}}

@rfm.simple_test
class BelowItsThreshold(Here):
    reference = {"*": {"every_route_middle": (1e15, -0.05, None, "B/s")}}

@rfm.simple_test
class Broken(Here):
    spec = "broken.toml"

@rfm.simple_test
class Undecided(Here):
    check_options = ["-n 2", "--quiet", "--most-repetitions 1"]

@rfm.simple_test
class Refused(Here):
    spec = "absent.toml"
"""
SPECIFICATION = """
[[promise]]
name = "Every route"
kind = "route"
pattern = "aapc"
size = "1KB"
at_least = "{}"
"""


def reframe(folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {
        "HOME": str(folder), "TMPDIR": str(folder), "PATH": f"{REFRAME.parent}:{os.environ['PATH']}"
    }  # fmt: skip
    command = [str(REFRAME), "--prefix", str(folder / "out"), "--nocolor", *map(str, words)]
    return subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, text=True, check=False, timeout=300
    )


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the folder in which ReFrame ran all tests; its report is report.json."""
    folder = tmp_path_factory.mktemp("reframe")
    shutil.copy(EXAMPLE / "crosscut_check.py", folder)
    (folder / "tests.py").write_text(TESTS)
    (folder / "kept.toml").write_text(SPECIFICATION.format("1 B/s"))
    (folder / "broken.toml").write_text(SPECIFICATION.format("1000 GB/s"))
    said = reframe(folder, "-c", "tests.py", "-r", "--report-file", folder / "report.json")
    assert said.returncode == 1, said.stdout + said.stderr
    return folder


def case(folder: Path, name: str) -> dict[str, Any]:
    report = json.loads((folder / "report.json").read_text())
    found: dict[str, Any] = next(one for one in report["runs"][0]["testcases"] if one["name"] == name)
    return found


def test_a_network_that_keeps_its_promises_passes_with_its_figures_and_verdicts(done: Path) -> None:
    kept = case(done, "Kept")
    assert (kept["result"], sorted(name.rpartition(":")[2] for name in kept["perfvalues"])) == (
        "pass", ["every_route_middle", "every_route_worst"],
    )  # fmt: skip
    (verdicts,) = (done / "out" / "output").rglob("check.xml")
    suite = ET.parse(verdicts).getroot().find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures")) == ("1", "0")


def test_a_figure_below_its_threshold_fails(done: Path) -> None:
    below = case(done, "BelowItsThreshold")
    assert (below["result"], below["fail_phase"]) == ("fail", "performance")
    assert "every_route_middle" in below["fail_reason"]


def test_a_broken_promise_fails_with_its_figure(done: Path) -> None:
    broken = case(done, "Broken")
    assert (broken["result"], broken["fail_phase"]) == ("fail", "sanity")
    assert "broken: Every route: promised at least 1000 GB/s, worst " in broken["fail_reason"]


def test_an_undecided_promise_is_no_failure(done: Path) -> None:
    assert case(done, "Undecided")["result"] == "skip"


def test_what_crosscut_refuses_is_the_reason(done: Path) -> None:
    refused = case(done, "Refused")
    assert refused["result"] == "fail"
    assert "absent.toml: there is no such file" in refused["fail_reason"]


def test_reframe_loads_the_example(tmp_path: Path) -> None:
    said = reframe(tmp_path, "-c", EXAMPLE / "network.py", "-l")
    assert "NightlyNetwork" in said.stdout, said.stdout + said.stderr
