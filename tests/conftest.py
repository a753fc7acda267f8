"""For all tests: the same draws each time."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import settings

HERE = Path(__file__).parent
NICENESS = os.getpriority(os.PRIO_PROCESS, 0)

# pytest's import mode `importlib` leaves sys.path alone.
sys.path[:0] = [str(HERE), str(HERE / "unit"), str(HERE / "golden")]
# Inherited by what is started from here, xdist's processes included, of which there is one for each core:
# small matrices gain nothing by threads.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# `crosscut` is found as `make test` finds it.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])

# The same examples each time. No test is timed: machines are shared.
settings.register_profile("repeatable", deadline=None, derandomize=True, database=None)
settings.load_profile("repeatable")

# Started in the background, or by nohup, this process ignores what the tests send to those that it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_configure(config: pytest.Config) -> None:
    """Refuses to run where xdist cannot keep a group's tests in one process: labs would be measured side by
    side. xdist names the group at the end of a test's id, which pytest 9.2 does not let it do."""
    if config.getoption("dist", "no") == "loadgroup" and not hasattr(pytest.Item, "_nodeid"):
        raise pytest.UsageError(f"pytest {pytest.__version__} ignores groups of tests; install one below 9.2")


@pytest.hookimpl(tryfirst=True)  # before fixtures start something
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Makes room for the tests that look at rates of labs: a test that runs beside one is nice, since a phase
    of a lab counts for nothing where other programs take the machine. Only root may be nice and then no
    longer."""
    from tiers import LABS

    if "PYTEST_XDIST_WORKER" not in os.environ or os.geteuid() != 0:
        return
    group = item.get_closest_marker("xdist_group")
    measures = group is not None and LABS in group.args
    os.setpriority(os.PRIO_PROCESS, 0, NICENESS if measures else min(NICENESS + 10, 19))
