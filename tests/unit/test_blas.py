"""numpy's matrix routines use one thread, and programs that crosscut starts do not notice."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
import os
import crosscut.analysis
print(os.environ.get("OPENBLAS_NUM_THREADS"))
"""


@pytest.mark.parametrize("given", [None, "3"])
def test_the_environment_stays_as_it_was(given: str | None) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    if given is not None:
        environment["OPENBLAS_NUM_THREADS"] = given
    said = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, check=True, capture_output=True, text=True
    )
    assert said.stdout.strip() == str(given)


def test_matrices_are_multiplied_by_one_thread() -> None:
    program = (
        "import crosscut.analysis, numpy, os\n"
        "a = numpy.ones((600, 600)); a @ a\n"
        "print(len(os.listdir('/proc/self/task')))"
    )
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    said = subprocess.run(
        [sys.executable, "-c", program], env=environment, check=True, capture_output=True, text=True
    )
    assert said.stdout.strip() == "1"
