"""The core's store, written to by core/tests/crash_writer.cpp: found in a build folder, or compiled."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("file", "json", "json_value", "layout", "shard", "store", "store_create", "store_metadata",
           "store_resume", "summary")  # fmt: skip


def crash_writer(build: Path) -> Path:
    """Named by CROSSCUT_CRASH_WRITER, or of a build that is up to date, or compiled into `build`."""
    if named := os.environ.get("CROSSCUT_CRASH_WRITER"):
        return Path(named)
    built = [*ROOT.glob("build/**/crash_writer")]
    newest_source = max(source.stat().st_mtime for source in (ROOT / "core").rglob("*.[ch]pp"))
    for program in built:
        if program.stat().st_mtime > newest_source:
            return program
    compiler = shutil.which(os.environ.get("CXX", "c++"))
    if compiler is None:
        pytest.skip("no C++ compiler: name a built crash_writer in CROSSCUT_CRASH_WRITER")
    program = build / "crash_writer"
    core = ROOT / "core"
    sources = [core / "tests/crash_writer.cpp", *(core / "src" / f"{name}.cpp" for name in SOURCES)]
    subprocess.run([compiler, "-std=c++20", "-O1", f"-I{core / 'src'}", *sources, "-o", program], check=True)
    return program
