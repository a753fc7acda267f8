"""The place `slurm` on a real Slurm: two slurmd on this machine stand for two nodes."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from events import Events, close_streams
from processes import await_none, environment, ranks_of_nodes, running
from slurm_cluster import NODES, Slurm, running_slurm, why_not
from under_way import wait_until

from crosscut.base.errors import PlaceError
from crosscut.places.base import Launched, PlaceOptions
from crosscut.places.slurm import SlurmPlace
from crosscut.places.slurm_batch import batch_script, submit

pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))


@pytest.fixture(scope="module")
def slurm() -> Iterator[Slurm]:
    with running_slurm() as running_here:
        yield running_here


@pytest.fixture
def outside(slurm: Slurm, monkeypatch: pytest.MonkeyPatch) -> Slurm:
    """As on a login node."""
    for name in [name for name in os.environ if name.startswith("SLURM_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("SLURM_CONF", slurm.environment["SLURM_CONF"])
    monkeypatch.setenv("PATH", slurm.environment["PATH"])
    return slurm


@pytest.fixture
def inside(outside: Slurm, monkeypatch: pytest.MonkeyPatch) -> Iterator[Slurm]:
    """As in the shell that salloc gives on two nodes with three tasks each."""
    allocate = ("salloc", "--no-shell", "--quiet", "--nodes=2", "--ntasks-per-node=3")
    outside.output(*allocate)
    job = outside.output("squeue", "-h", "-o", "%A").split()[0]
    variables = {
        "SLURM_JOB_ID": job,
        "SLURM_JOB_NUM_NODES": "2",
        "SLURM_JOB_NODELIST": "c[1-2]",
        "SLURM_JOB_CPUS_PER_NODE": "3(x2)",
        "SLURM_TASKS_PER_NODE": "3(x2)",
        "SLURM_NTASKS": "6",
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    yield outside
    outside.output("scancel", job)


def start(core: Path, ranks: int, *words: str) -> Launched:
    options = PlaceOptions(
        executable=core, ranks=ranks, interface="127.0.0.1", pin=False, launcher_arguments=words
    )
    return SlurmPlace().start(options)


@contextlib.contextmanager
def session(core: Path, ranks: int, *words: str) -> Iterator[Launched]:
    """Runs a session and ends it, even after a failed assertion."""
    launched = start(core, ranks, *words)
    try:
        yield launched
    finally:
        close_streams(launched)
        await_none(core)


def ranks_by_node(core: Path) -> dict[str, int]:
    """Returns ranks by Slurm's name of the node: `ready` rightly counts one machine as one node."""
    nodes = ranks_of_nodes(core)
    return {environment(node)["SLURMD_NODENAME"]: count for node, count in nodes.items()}


def becomes_empty(text: Callable[[], str]) -> bool:
    """Waits: Slurm takes a while to complete ended jobs."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if not text().strip():
            return True
        time.sleep(0.1)
    return False


def no_jobs(slurm: Slurm) -> bool:
    return becomes_empty(lambda: slurm.output("squeue", "-h"))


def test_inside_an_allocation_ranks_are_spread_over_its_nodes(inside: Slurm, core: Path) -> None:
    with session(core, 5) as launched:
        assert Events(launched).until("ready")["ranks"] == 5
        assert ranks_by_node(core) == {NODES[0]: 3, NODES[1]: 2}
    assert launched.process.returncode == 0, launched.stderr_tail()


def test_the_number_of_ranks_is_by_default_the_allocation_s_tasks(inside: Slurm) -> None:
    assert SlurmPlace().default_ranks("", {}) == 6


def test_more_ranks_than_tasks_of_the_allocation_are_refused_with_its_size(inside: Slurm, core: Path) -> None:
    with pytest.raises(PlaceError, match="7 ranks do not fit this allocation: 2 nodes with 6 cores"):
        start(core, 7)


def test_outside_salloc_gets_the_nodes_and_gives_them_back(outside: Slurm, core: Path) -> None:
    with session(core, 4, "--nodes=2") as launched:
        Events(launched).until("ready")
        assert ranks_by_node(core) == {NODES[0]: 2, NODES[1]: 2}
    assert launched.process.returncode == 0, launched.stderr_tail()
    assert no_jobs(outside)


@pytest.mark.parametrize("where", ["outside", "inside"])
def test_a_killed_srun_leaves_no_step(where: str, core: Path, request: pytest.FixtureRequest) -> None:
    slurm: Slurm = request.getfixturevalue(where)
    words = ["--nodes=2"] if where == "outside" else []
    with session(core, 4, *words) as launched:
        Events(launched).until("ready")
        assert len(running(core)) == 2 + 4
        launched.kill(signal.SIGKILL)  # salloc, if any, and srun, as one group
        launched.process.wait(10)
    assert becomes_empty(lambda: slurm.output("squeue", "-h", "--steps", "-o", "%j").replace("extern", ""))
    if where == "outside":
        assert no_jobs(slurm)  # the job completes after its steps
    else:
        assert len(slurm.output("squeue", "-h", "-o", "%A").split()) == 1  # our own allocation stays


def test_a_cancelled_job_ends_the_session(outside: Slurm, core: Path) -> None:
    with session(core, 2) as launched:
        Events(launched).until("ready")
        outside.output("scancel", "--me")
        assert launched.process.wait(30) != 0
        await_none(core)


def test_a_refused_allocation_shows_slurm_s_message(outside: Slurm, core: Path) -> None:
    with session(core, 2, "--nodes=2", "--partition=nowhere") as launched:
        assert Events(launched).next() is None
    assert any("invalid partition" in line for line in launched.stderr_tail())


def test_a_request_that_waits_for_nodes_is_withdrawn_if_crosscut_is_killed(outside: Slurm) -> None:
    """Three ranks ask for three nodes, and there are two."""
    command = [sys.executable, "-m", "crosscut", "run", "pairwise", "--on", "slurm", "-n", "3", "--quiet"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            wait_until(lambda: "PENDING" in outside.output("squeue", "-h", "-o", "%T"), "nothing waits")
        finally:
            process.kill()
    assert no_jobs(outside)


def test_a_batch_script_runs_within_its_own_allocation(outside: Slurm, core: Path, tmp_path: Path) -> None:
    """The script runs a small client, which acts like `crosscut run … --on slurm`."""
    client, log = tmp_path / "client.py", tmp_path / "batch.log"
    client.write_text(
        f"import sys\nsys.path[:0] = [{str(Path(__file__).parent)!r}, *{sys.path!r}]\n"
        "from pathlib import Path\nfrom test_slurm import Events, session, ranks_by_node\n"
        f"core = Path({str(core)!r})\n"
        "with session(core, 4) as launched:\n"
        "    print('ready:', Events(launched).until('ready')['ranks'], sorted(ranks_by_node(core).items()))\n"
    )
    script = batch_script([sys.executable, str(client)], 4, ["-N", "2", f"--output={log}"])
    submit(script)
    assert no_jobs(outside)
    assert f"ready: 4 {[(node, 2) for node in NODES]}" in log.read_text()
