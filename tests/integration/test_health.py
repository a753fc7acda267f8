"""`crosscut health` on the Slurm of a lab: a bad cable's node is drained after two searches, later resumed.

The tests believe the rates although the machine may be busy: the planted fault is larger than such effects.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from labs import without_rates
from slurm_labs import SlurmLab, needs_slurm, slurm_lab
from under_way import wait_until

from crosscut.health import ledger
from crosscut.health.ledger import HealthSearch
from crosscut.lab import state
from crosscut.lab.faults import plant
from crosscut.lab.faults.fault import Fault

pytestmark = [*needs_slurm, without_rates]
NODES = ("n0000", "n0001", "n0002", "n0003")
RATE, SIZE = 2_370_000, 100_000
"""Bytes per second of TCP's payload over 20 Mbit/s; bytes of a message."""
_BELIEVING = """
import sys
from crosscut.analysis.figures import limited
limited.limited_phases = lambda *_: frozenset()
from crosscut.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[SlurmLab]:
    with slurm_lab(rate="20 Mbit/s") as here:
        yield here


@pytest.fixture
def folder(cluster: SlurmLab, tmp_path: Path) -> Iterator[Path]:
    """A folder with a ledger of five nights, and a policy; afterwards every node is idle and sound again."""
    for night in range(1, 6):
        ledger.add(tmp_path / "health.jsonl", earlier(night))
    default = cluster.crosscut("health", "policy").stdout
    (tmp_path / "policy.toml").write_text(default.replace("sound_searches = 3", "sound_searches = 2"))
    yield tmp_path
    plant.lift("s", "all")
    cluster.run("scancel", "--me")
    for node in NODES:
        cluster.run("scontrol", "update", f"NodeName={node}", "State=RESUME")
    wait_until(lambda: set(states(cluster).values()) == {("idle", "none")}, "the nodes do not become idle")


def earlier(night: int) -> HealthSearch:
    """A night on which all nodes reached their rate."""
    rates = dict.fromkeys(NODES, RATE)
    return HealthSearch(f"2026-01-{night:02}T22:00:00Z", NODES, size_bytes=SIZE, reached=rates)


def health(cluster: SlurmLab, folder: Path, *words: str, path: str = "") -> subprocess.CompletedProcess[str]:
    kept = ["--ledger", str(folder / "health.jsonl"), "--history", str(folder / "net.db")]
    kept += ["--policy", str(folder / "policy.toml"), "--size", str(SIZE)]
    before = ["env", "COLUMNS=500", f"PATH={path}:{os.environ['PATH']}"]
    return cluster.run(*before, sys.executable, "-c", _BELIEVING, "health", *words, *kept)


def decisions(done: subprocess.CompletedProcess[str]) -> dict[str, str]:
    assert done.returncode == 0, done.stderr
    return {one["node"]: one["decision"] for one in json.loads(done.stdout)["decisions"]}


def states(cluster: SlurmLab) -> dict[str, tuple[str, str]]:
    """State and reason of each node."""
    lines = cluster.output("sinfo", "-h", "-N", "-o", "%N|%T|%E").splitlines()
    return {name: (word, why) for name, word, why in (line.split("|", 2) for line in lines)}


def test_a_bad_cable_is_drained_after_two_searches_and_resumed_when_it_is_good(
    cluster: SlurmLab, folder: Path
) -> None:
    night = ("night", "--json")
    plant.plant("s", Fault("slow", ("n0001",), share=0.4))
    assert decisions(health(cluster, folder, *night)) == {"n0001": "wait"}
    assert states(cluster)["n0001"][0] == "idle"
    assert decisions(health(cluster, folder, *night, "--dry-run")) == {"n0001": "drain"}
    assert states(cluster)["n0001"][0] == "idle"
    assert decisions(health(cluster, folder, *night)) == {"n0001": "drain"}
    word, why = states(cluster)["n0001"]
    assert word == "drained"
    assert why.startswith("crosscut: ")
    assert "(its own history)" in why
    assert "adapter eth0" in why
    assert [name for name, (word, _) in states(cluster).items() if word == "idle"] == [
        node for node in NODES if node != "n0001"
    ]
    plant.lift("s", "all")
    assert decisions(health(cluster, folder, *night)) == {"n0001": "keep drained"}
    assert decisions(health(cluster, folder, *night)) == {"n0001": "resume"}
    wait_until(lambda: states(cluster)["n0001"][0] == "idle", "n0001 is not resumed")
    assert cluster.output("squeue", "-h") == ""


def test_the_search_of_one_node_finds_its_fault_and_leaves_busy_nodes_alone(
    cluster: SlurmLab, folder: Path
) -> None:
    job = cluster.output("salloc", "--no-shell", "--nodelist=n0002", "--quiet")
    assert job == ""
    done = health(cluster, folder, "node", "n0001")
    assert "nothing was measured: a search needs 4 nodes that run no other job" in done.stdout
    done = health(cluster, folder, "node", "n0002")
    assert "n0002 is mixed: measuring would disturb it (--busy measures it all the same)" in done.stdout
    cluster.output("scancel", "--me")
    wait_until(lambda: states(cluster)["n0002"][0] == "idle", "n0002 does not become idle")
    plant.plant("s", Fault("slow", ("n0001",), share=0.4))
    assert decisions(health(cluster, folder, "node", "n0001", "--json")) == {"n0001": "wait"}
    assert decisions(health(cluster, folder, "node", "n0003", "--json")) == {"n0001": "drain"}


def test_a_node_that_a_person_drained_stays_drained(cluster: SlurmLab, folder: Path) -> None:
    cluster.output("scontrol", "update", "NodeName=n0003", "State=DRAIN", "Reason=bad memory")
    done = health(cluster, folder, "night")
    assert done.returncode == 0
    assert "there are only n[0000-0002]" in done.stdout
    assert states(cluster)["n0003"] == ("drained", "bad memory")


def test_slurm_that_does_not_answer_is_told_and_the_next_call_acts_on_what_was_found(
    cluster: SlurmLab, folder: Path
) -> None:
    """`scontrol` fails at first, after two searches that found the fault."""
    (folder / "bin").mkdir()
    (folder / "bin" / "scontrol").write_text(
        "#!/bin/sh\necho 'Unable to contact slurm controller' >&2\nexit 1\n"
    )
    (folder / "bin" / "scontrol").chmod(0o755)
    plant.plant("s", Fault("slow", ("n0001",), share=0.4))
    for _ in range(2):
        done = health(cluster, folder, "night", path=str(folder / "bin"))
    assert done.returncode == 1
    assert "n0001: drain: `scontrol update` failed: Unable to contact slurm controller" in done.stderr
    assert f"is kept in {folder / 'health.jsonl'}, and the next call acts on it" in done.stderr
    assert states(cluster)["n0001"] == ("idle", "none")
    cluster.output("scontrol", "update", "NodeName=n0003", "State=DRAIN", "Reason=bad memory")
    done = health(cluster, folder, "night")  # too few nodes to measure
    assert "n0001 drained: " in done.stdout
    assert states(cluster)["n0001"][0] == "drained"


def test_a_controller_that_hangs_is_told_and_nothing_is_measured(cluster: SlurmLab, folder: Path) -> None:
    (folder / "bin").mkdir()
    (folder / "bin" / "sinfo").write_text(
        "#!/bin/sh\necho 'slurm_load_partitions: Unable to contact' >&2; exit 1\n"
    )
    (folder / "bin" / "sinfo").chmod(0o755)
    done = health(cluster, folder, "night", path=str(folder / "bin"))
    assert done.returncode == 1
    assert "`sinfo --noheader` failed: slurm_load_partitions: Unable to contact; nothing was m" in done.stderr
    assert len(ledger.read(folder / "health.jsonl")) == 5


def test_a_killed_search_gives_its_nodes_back_and_leaves_no_rank(cluster: SlurmLab, folder: Path) -> None:
    words = ["health", "night", "--ledger", f"{folder}/l", "--size", "4MB"]
    command = cluster.command(sys.executable, "-m", "crosscut", *words)
    with subprocess.Popen(command, env=cluster.environment, stdout=subprocess.DEVNULL) as process:
        wait_until(lambda: "crosscut-health" in cluster.output("squeue", "-h", "-o", "%j %N"), "none is held")
        wait_until(lambda: "allocated" in {word for word, _ in states(cluster).values()}, "none is held")
        process.kill()
    wait_until(lambda: set(states(cluster).values()) == {("idle", "none")}, "nodes are held still")
    wait_until(lambda: not cluster.ranks(), "ranks are left")
    assert ledger.read(folder / "l") == []


def configured(cluster: SlurmLab, lines: Sequence[str]) -> str:
    """Adds lines to slurm.conf; returns what it was."""
    file = state.folder("s") / "slurm" / "slurm.conf"
    before = file.read_text()
    file.write_text(before + "\n".join([*lines, ""]))
    cluster.output("scontrol", "reconfigure")
    return before


@pytest.mark.parametrize("where", ["Prolog", "Epilog"])
def test_a_prolog_measures_the_nodes_of_its_job_and_an_epilog_its_node_with_idle_ones(
    where: str, cluster: SlurmLab, folder: Path
) -> None:
    script, said = folder / "script.sh", folder / "said"
    words = f"health node --ledger {folder}/health.jsonl --size {SIZE} --json"
    lab = state.folder("s")
    script.write_text(
        f"#!/bin/sh\nexport PATH={os.environ['PATH']} SLURM_CONF={lab}/slurm/slurm.conf\n"
        f"export {state.VARIABLE}={lab.parent}\n"
        f"{sys.executable} -c '{_BELIEVING}' {words} >> {said}.$SLURMD_NODENAME 2>&1\n"
        f"echo status $? >> {said}.$SLURMD_NODENAME\nexit 0\n"
    )
    script.chmod(0o755)
    nodes = 4 if where == "Prolog" else 1
    before = configured(cluster, [f"{where}={script}"])
    try:
        assert len(cluster.output("srun", f"--nodes={nodes}", "hostname").split()) == nodes
        wait_until(lambda: not cluster.output("squeue", "-h"), "the job does not end")
    finally:
        (state.folder("s") / "slurm" / "slurm.conf").write_text(before)
        cluster.output("scontrol", "reconfigure")
    wait_until(lambda: "status 0" in Path(f"{said}.n0000").read_text(), "the script does not end")
    document = json.loads(Path(f"{said}.n0000").read_text().splitlines()[0])
    assert sorted(document["search"]["reached"]) == list(NODES), document["notes"]
    for node in NODES[1:nodes]:
        assert Path(f"{said}.{node}").read_text() == "status 0\n"


def test_a_search_in_a_lab_has_the_lab_s_own_ledger(cluster: SlurmLab, folder: Path) -> None:
    words = ["health", "night", "--size", str(SIZE), "--policy", f"{folder}/policy.toml", "--dry-run"]
    done = cluster.run(sys.executable, "-c", _BELIEVING, *words)
    assert done.returncode == 0, done.stderr
    assert "No node could be judged; 4 nodes reached" in done.stdout
    (search,) = ledger.read(state.folder("s") / "health.jsonl")
    assert set(search.reached) == set(NODES)
    assert not search.run  # nothing was kept


def test_a_search_that_the_time_limit_ends_says_so(cluster: SlurmLab, folder: Path) -> None:
    done = health(cluster, folder, "night", "--time-limit", "1s", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "--time-limit" in done.stdout, done.stdout


@pytest.mark.parametrize("words", [("--reservation", "nosuch"), ("--partition", "nosuch")], ids=" ".join)
def test_what_slurm_does_not_know_is_named(words: Sequence[str], cluster: SlurmLab, folder: Path) -> None:
    done = health(cluster, folder, "night", *words)
    assert done.returncode == 2
    assert f"crosscut: error: {' '.join(words)}: " in done.stderr
    assert "machine of the Slurm cluster" not in done.stderr
