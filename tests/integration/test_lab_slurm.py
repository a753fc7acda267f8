"""A Slurm cluster on the nodes of a lab: its commands, crosscut on it, and that nothing of it stays."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from in_process import crosscut
from labs import crossbar, without_rates
from slurm_labs import HOSTS, SlurmLab, needs_slurm, short_labs, slurm_lab
from under_way import wait_until

from crosscut.base.errors import UsageError
from crosscut.lab import describe, lifecycle, removal, state
from crosscut.lab.faults import plant
from crosscut.lab.faults.fault import Fault
from crosscut.lab.slurm import configuration
from crosscut.run.realm import is_emulated
from crosscut.run.run import Run

pytestmark = [*needs_slurm, without_rates]
NODES = [f"n{number:04}" for number in range(HOSTS)]


@pytest.fixture(scope="module")
def cluster() -> Iterator[SlurmLab]:
    with slurm_lab() as here:
        yield here


def test_steps_run_on_the_nodes_of_the_lab(cluster: SlurmLab) -> None:
    assert cluster.output("sinfo", "-h", "-N", "-o", "%N %T").split("\n")[:-1] == [f"{n} idle" for n in NODES]
    hostnames = cluster.output("srun", f"--nodes={HOSTS}", "hostname")
    assert sorted(hostnames.split()) == NODES
    assert cluster.output("srun", "--nodelist=n0002", "hostname", node="n0001").strip() == "n0002"


def test_names_mean_the_lab_s_links_on_nodes_and_the_management_network_on_login(cluster: SlurmLab) -> None:
    look = "import socket; print(*map(socket.gethostbyname, ['n0002', 'login']))"
    assert cluster.output(sys.executable, "-c", look, node="n0001").split() == ["10.0.0.3", "10.250.4.1"]
    assert cluster.output(sys.executable, "-c", look).split() == ["10.250.0.3", "10.250.4.1"]


def payload(cluster: SlurmLab, device: str) -> int:
    """Bytes that all nodes' devices of this name have sent."""
    read = ["cat", f"/sys/class/net/{device}/statistics/tx_bytes"]
    return sum(int(cluster.output(*read, node=node)) for node in NODES)


def test_crosscut_on_slurm_measures_the_lab_s_links(cluster: SlurmLab) -> None:
    out = cluster.folder / "run.zarr"
    words = ("--size", "200kB", "--repetitions", "2", "--out", str(out), "--quiet")
    before = [payload(cluster, device) for device in ("eth0", "mgmt")]
    done = cluster.crosscut("run", "aapc", "--on", "slurm", "-n", str(HOSTS), *words)
    assert done.returncode == 0, done.stderr
    links, management = (payload(cluster, device) - was
                         for device, was in zip(("eth0", "mgmt"), before, strict=True))  # fmt: skip
    run = Run.open(out)
    assert list(run.node_names) == NODES
    assert links >= HOSTS * (HOSTS - 1) * 2 * 200_000 > 4 * management
    assert run.attributes["place"] == "slurm"
    assert is_emulated(run.attributes)
    assert run.attributes["lab"]["name"] == "s"
    assert "reference_after" in run.attributes["trust"][0]
    assert cluster.output("squeue", "-h") == ""


def test_a_batch_job_measures_within_its_allocation(cluster: SlurmLab) -> None:
    out = cluster.folder / "batch.zarr"
    measure = ("aapc", "--on", "slurm", "-n", "3", "--size", "1kB", "--repetitions", "2", "--out", str(out))
    done = cluster.crosscut("run", *measure, "--batch", "--launcher-args=--nodes=3 --exclusive")
    assert done.returncode == 0, done.stderr
    wait_until(lambda: not cluster.output("squeue", "-h"), "the job does not end")
    run = Run.open(out)
    assert run.attributes["state"] == "complete"
    assert len(set(run.node_names)) == 3


def test_a_run_on_slurm_tells_what_is_planted_in_the_lab(cluster: SlurmLab) -> None:
    out = cluster.folder / "planted.zarr"
    plant.plant("s", Fault("slow", ("n0001",)))
    try:
        words = ("--size", "1kB", "--repetitions", "2", "--out", str(out))
        done = cluster.crosscut("run", "pairwise", "--on", "slurm", "-n", "2", *words)
    finally:
        plant.lift("s", "all")
    assert done.returncode == 0, done.stderr
    assert "planted in lab s: f1:" in done.stderr
    assert [fault["kind"] for fault in Run.open(out).attributes["faults"]] == ["slow"]


def test_status_names_the_configuration_and_daemons_that_ended(cluster: SlurmLab) -> None:
    about = describe.status(state.read("s"))["slurm"]
    assert Path(about["configuration"]).read_text().startswith("ClusterName=lab\n")
    assert about["ended"] == []
    done = crosscut("lab", "exec", "s", "n0009", "--", "true", folder=cluster.folder)
    assert "and fabric and login" in done.stderr
    found = crosscut("lab", "exec", "s", "login", "--", "sinfo", "-h", "-o", "%D", folder=cluster.folder)
    assert found.stdout == f"{HOSTS}\n"


def left(root: Path) -> dict[str, object]:
    """Files, mounts and processes of labs in this folder."""
    word = f"{state.VARIABLE}={root}".encode()
    processes = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if entry.name != str(os.getpid()) and word in (entry / "environ").read_bytes().split(b"\0"):
                processes.append((entry / "cmdline").read_text())
    return {"files": root.exists(), "mounts": removal.mounts_under(root), "processes": processes}


NOTHING = {"files": False, "mounts": [], "processes": []}


def becomes(holds: Callable[[], object], value: object) -> None:
    deadline = time.monotonic() + 30
    while (found := holds()) != value:
        assert time.monotonic() < deadline, found
        time.sleep(0.05)


def test_down_ends_jobs_and_daemons_and_leaves_nothing() -> None:
    with short_labs() as root:
        file = crossbar(root.parent, 2)
        record = lifecycle.up(str(file), lifecycle.Choices(name="s", slurm=True))
        here = SlurmLab(record, root.parent)
        here.output("sbatch", "--nodes=2", "--wrap", "srun sleep 600")
        wait_until(lambda: here.output("squeue", "-h", "-s").count("sleep") == 1, "the step does not start")
        assert lifecycle.down("s") == []
        becomes(lambda: left(root), NOTHING)


@pytest.mark.parametrize("reached", ["slurm.conf", "munge.socket", "slurmctld.log", "slurmd-n0001.log"])
def test_down_removes_everything_that_a_killed_up_leaves(reached: str) -> None:
    with short_labs() as root:
        file = crossbar(root.parent, 2)
        words = [sys.executable, "-m", "crosscut", "lab", "up", str(file), "--name", "s", "--slurm"]
        with subprocess.Popen(words, stdout=subprocess.DEVNULL) as process:
            wait_until((root / "s" / "slurm" / reached).exists, f"there is no {reached}")
            process.kill()
        becomes(lambda: describe.condition_of_name("s") == "being built", False)
        lifecycle.down("s")
        becomes(lambda: left(root), NOTHING)


def test_an_up_whose_slurm_fails_says_which_daemon_and_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(configuration, "text", lambda *_: "NoSuchKey=1\n")
    with short_labs() as root:
        file = crossbar(root.parent, 2)
        with pytest.raises(Exception, match=r"--slurm: (slurmctld|slurmd of n\d+) has ended: ."):
            lifecycle.up(str(file), lifecycle.Choices(name="s", slurm=True))
        becomes(lambda: left(root), NOTHING)


def test_too_many_hosts_are_refused_before_anything_is_built(tmp_path: Path) -> None:
    with short_labs() as root, pytest.raises(UsageError, match="has 17 hosts; Slurm was tried in labs of"):
        lifecycle.up(str(crossbar(tmp_path, 17)), lifecycle.Choices(name="s", slurm=True))
    assert not root.exists()


def test_json_of_up_says_where_slurm_is(cluster: SlurmLab) -> None:
    done = crosscut("lab", "status", "s", "--json", folder=cluster.folder)
    assert json.loads(done.stdout)["slurm"]["login"] == "login"
