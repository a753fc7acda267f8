"""The cost of starting the command: the modules that it imports."""

from __future__ import annotations

import subprocess
import sys

import pytest

from crosscut.cli import COMMANDS

# Importing any of these takes longer than starting Python.
HEAVY = {"numpy", "xarray", "pandas", "zarr", "scipy", "rich", "importlib.metadata"}


def imported(*words: str) -> set[str]:
    asked = (
        f"import sys; from crosscut import cli\ntry: cli.main({list(words)})\nfinally: print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=False)
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize("words", [("--help",), ("frobnicate",), ()])
def test_help_and_an_unknown_command_import_no_command_and_no_library(words: tuple[str, ...]) -> None:
    loaded = imported(*words)
    assert "crosscut.cli" in loaded
    assert not loaded & HEAVY
    assert not [name for name in loaded if name.startswith("crosscut.cli.") and "parsing" not in name]


def test_a_command_starts_without_the_libraries_that_only_runs_need() -> None:
    loaded = imported("run", "aapc", "--nope")
    assert "crosscut.cli.run" in loaded
    assert not loaded & {"numpy", "xarray", "pandas", "zarr", "scipy"}
    assert "crosscut.cli.show" not in loaded


def test_no_command_imports_the_libraries_that_only_runs_need() -> None:
    asked = "import sys; from crosscut import cli; cli.build_parser(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert {f"crosscut.cli.{name.replace('-', '_')}" for name in COMMANDS} <= loaded
    assert not loaded & {"xarray", "pandas", "zarr", "scipy"}
