"""Settings of all tests: the same random draws each time, and priority for tests that measure labs."""

from __future__ import annotations

import getpass
import os
import signal
import sys
import tempfile
import warnings
from pathlib import Path

import pytest
from hypothesis import settings

HERE = Path(__file__).parent
NICENESS = os.getpriority(os.PRIO_PROCESS, 0)

# pytest's import mode `importlib` leaves sys.path alone.
sys.path[:0] = [str(HERE), str(HERE / "unit"), str(HERE / "golden")]
# Inherited by child processes, xdist's included, one per core: small matrices gain nothing from threads.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Finds the same `crosscut` as `make test`.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])

# No deadlines: machines are shared.
settings.register_profile("repeatable", deadline=None, derandomize=True, database=None)
settings.load_profile("repeatable")

# A process started in the background or by nohup ignores these signals, and so would its children, to which
# the tests send them.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_configure(config: pytest.Config) -> None:
    """Refuses to run if xdist cannot keep a group's tests in one process: labs would be measured side by
    side. xdist appends the group to a test's id, which pytest 9.2 prevents."""
    if config.getoption("dist", "no") == "loadgroup" and not hasattr(pytest.Item, "_nodeid"):
        raise pytest.UsageError(f"pytest {pytest.__version__} ignores groups of tests; install one below 9.2")
    if "PYTEST_XDIST_WORKER" not in os.environ and os.geteuid() == 0:
        release_killed_labs(Path(os.environ.get("PYTEST_DEBUG_TEMPROOT") or tempfile.gettempdir()))


def release_killed_labs(temporary: Path) -> None:
    """Unmounts the namespaces that killed test runs left in pytest's folders, which pytest cannot remove
    otherwise: its warning at the end would fail a run in which every test passed."""
    from crosscut.lab.kernel import namespaces

    mine = temporary.resolve() / f"pytest-of-{getpass.getuser()}"
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, mounted, kind, *_ = line.split(" ")
        path = Path(mounted)
        if (
            kind == "nsfs"
            and path.is_relative_to(mine)
            and not _in_use(mine / path.relative_to(mine).parts[0])
        ):
            try:
                namespaces.unmount(path)
            except OSError as error:
                warnings.warn(f"{path}, left by a killed test run, stays: {error}", stacklevel=2)


def _in_use(folder: Path) -> bool:
    """True if the pytest process that locked this folder still runs."""
    try:
        os.kill(int((folder / ".lock").read_text()), 0)
    except (OSError, ValueError):
        return False
    return True


@pytest.hookimpl(tryfirst=True)  # before fixtures start something
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Runs all tests nice except those that measure rates of labs, because phases disturbed by other programs
    do not count. Only root may lower its niceness again."""
    from tiers import LABS

    if "PYTEST_XDIST_WORKER" not in os.environ or os.geteuid() != 0:
        return
    group = item.get_closest_marker("xdist_group")
    measures = group is not None and LABS in group.args
    os.setpriority(os.PRIO_PROCESS, 0, NICENESS if measures else min(NICENESS + 10, 19))
