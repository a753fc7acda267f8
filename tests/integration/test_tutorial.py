"""The tutorial, command by command, as a reader types them, with the outcomes that it promises."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from labs import needs_lab

pytestmark = [needs_lab, pytest.mark.long]

ROOT = Path(__file__).resolve().parents[2]
TUTORIAL = ROOT / "docs" / "tutorial.md"
LIMIT_SECONDS = 300
# The reader presses it some seconds after the start.
CTRL_C_SECONDS = 6.0
# `make install` and the activation of the environment are done already.
INSTALLED = ("make install", ". .venv")


def steps() -> Iterator[tuple[str, str]]:
    """Yields (language, command or program) in the tutorial's order."""
    text = TUTORIAL.read_text(encoding="utf-8")
    for language, block in re.findall(r"^```(sh|python)\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        if language == "python":
            yield language, block
            continue
        for line in block.replace("\\\n", " ").splitlines():
            if not line.startswith(INSTALLED):
                yield language, line


class Reader:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        beside = Path(sys.executable).parent
        self.environment = os.environ | {"PATH": f"{beside}:{os.environ['PATH']}", "COLUMNS": "100"}
        (folder / "docs").symlink_to(ROOT / "docs")

    def run(self, language: str, text: str) -> tuple[int, str]:
        words = ["sh", "-c", text] if language == "sh" else [sys.executable, "-c", text]
        process = subprocess.Popen(
            words, cwd=self.folder, env=self.environment, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        if "# Ctrl-C" in text:
            time.sleep(CTRL_C_SECONDS)
            os.killpg(process.pid, signal.SIGINT)
        said, _ = process.communicate(timeout=LIMIT_SECONDS)
        return process.returncode, said


def test_the_tutorial_gives_what_it_says(tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    said: dict[str, str] = {}
    for language, text in steps():
        status, output = reader.run(language, text)
        said[text.split(" #")[0].strip()] = output
        # Ctrl-C ends the shell, too.
        assert status in ((130, -signal.SIGINT) if "# Ctrl-C" in text else (0,)), f"{text}\n{output}"

    if (os.cpu_count() or 1) < 8:
        assert "⚠ more ranks than cores" in said["crosscut run aapc -n 8 --size 1MB --out first.zarr"]
    slow = said["crosscut show slow-cable.zarr"]
    *cautions, finding = re.findall("⚠.*", slow)
    assert all("95 % interval" in one or "ranks start up to" in one for one in cautions)
    assert re.match(r"⚠ n6 sends (and receives )?at 5\d %", finding)
    routes = rates(slow)
    assert len(routes) >= 4
    assert all("n6" in route for route in routes)

    alone = rates(said["crosscut show routes.zarr"])
    assert alone["n3", "n5"] == pytest.approx(12.13, rel=0.03)
    assert [rate for route, rate in alone.items() if "n6" in route] == pytest.approx([7.28] * 3, rel=0.03)

    assert re.search(r"\n *1 KB .*\n *30 KB .*\n *1 MB ", said[
        "crosscut run aapc -n 8 --size 1KB,30KB,1MB --repetitions 50 --out sizes.zarr"])  # fmt: skip
    assert re.search(r"intact but incomplete: [\d,]+ of 22,400 cells", said["crosscut fsck long.zarr"])
    received = next(text for text in said.values() if text.startswith("["))
    assert np.argmin([float(word) for word in received.strip("[] \n").split()]) == 5
    slowest = next(text for text in said.values() if text.startswith("node "))
    assert all("n6" in line.split()[:2] for line in slowest.splitlines()[1:4])


def rates(shown: str) -> dict[tuple[str, str], float]:
    """Returns the rates of the routes that `show` lists, MB/s."""
    rows = re.findall(r"^(n\d) +→ +(n\d) +([\d.]+)", shown, re.MULTILINE)
    return {(source, destination): float(rate) for source, destination, rate in rows}
