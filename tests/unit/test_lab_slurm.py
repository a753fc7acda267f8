"""What the Slurm of a lab is told, and when there can be none."""

from __future__ import annotations

from pathlib import Path

import pytest

from crosscut.base.errors import CrosscutError, UsageError
from crosscut.lab.slurm import configuration, daemons
from crosscut.run.realm import is_emulated

LABS = Path("/run/crosscut/lab")


def test_every_node_has_its_management_address_and_at_least_its_ranks_cpus() -> None:
    lines = configuration.text(("a", "b"), (2, 8), LABS / "x").splitlines()
    assert "NodeName=a NodeAddr=10.250.0.1 CPUs=2 State=UNKNOWN" in lines
    assert "NodeName=b NodeAddr=10.250.0.2 CPUs=8 State=UNKNOWN" in lines
    assert "SlurmctldHost=login(10.250.4.1)" in lines


def test_everything_that_slurm_keeps_is_in_the_lab_s_folder() -> None:
    lines = configuration.text(("a",), (1,), LABS / "x").splitlines()
    paths = [
        value for line in lines for value in [line.partition("=")[2]] if "/" in value and "_" not in value
    ]
    own = [path for path in paths if path.removeprefix("socket=").startswith("/run/crosscut/lab/x/slurm/")]
    assert len(own) == 7
    assert [path for path in paths if path not in own] == [
        "proctrack/linuxproc", "task/none",
    ]  # fmt: skip


def test_a_cluster_that_cannot_be_is_refused_with_the_reason() -> None:
    configuration.refuse(["n"] * 16, LABS / "x")
    with pytest.raises(UsageError, match="17 hosts"):
        configuration.refuse(["n"] * 17, LABS / "x")
    with pytest.raises(UsageError, match="a host of the network is called login"):
        configuration.refuse(["login", "n"], LABS / "x")
    with pytest.raises(CrosscutError, match=r"has 1\d\d bytes, .* at most 107; choose a shorter --name"):
        configuration.refuse(["n0000"], LABS / ("x" * 64))


def test_a_lab_is_recognised_by_its_slurm_conf() -> None:
    assert configuration.lab_of(str(configuration.file_of(LABS / "x")), LABS) == "x"
    for other in ("", "slurm.conf", "/etc/slurm/slurm.conf", "/run/other/x/slurm/slurm.conf"):
        assert configuration.lab_of(other, LABS) == ""


def test_programs_in_a_lab_do_not_see_another_slurm() -> None:
    found = daemons.environment(LABS / "x", {"PATH": "/bin", "SLURM_JOB_ID": "7", "HOME": "/root"})
    assert found == {
        "PATH": "/bin:/usr/sbin:/sbin", "HOME": "/root", "SLURM_CONF": "/run/crosscut/lab/x/slurm/slurm.conf",
    }  # fmt: skip


def test_a_run_on_the_slurm_of_a_lab_is_emulated() -> None:
    assert is_emulated({"place": "slurm", "lab": {"name": "x"}})
    assert not is_emulated({"place": "slurm"})
    assert not is_emulated({"place": "slurm", "lab": "x"})
