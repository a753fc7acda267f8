"""The place `hosts` over a real ssh: several aliases of one sshd stand for several hosts."""

from __future__ import annotations

import contextlib
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from events import Events, close_streams
from processes import await_none, children, command_line, name, processes_named, ranks_of_nodes, running
from sshd import Sshd, running_sshd, why_not

from crosscut.base.errors import SessionError
from crosscut.places.base import Launched, PlaceOptions, new_secret
from crosscut.places.hosts import HostsPlace
from crosscut.session.client import Session

pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))

ALIASES = ("h1", "h2", "h3", "h4", "h5")


@pytest.fixture(scope="module")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    with running_sshd(tmp_path_factory.mktemp("ssh") / "d", ALIASES) as running:
        yield running


class Cluster:
    """Starts sessions on the aliases."""

    def __init__(self, sshd: Sshd, core: Path, folder: Path) -> None:
        self.sshd, self.core, self.folder = sshd, core, folder
        self.secret = new_secret()
        self.started: list[Launched] = []

    def start(self, *lines: str, ranks: int, fanout: int = 2, core_path: str = "") -> Launched:
        file = self.folder / "hosts.txt"
        file.write_text("\n".join(lines) + "\n")
        options = PlaceOptions(
            executable=self.core,
            ranks=ranks,
            argument=str(file),
            interface="127.0.0.1",
            launcher_arguments=("-F", str(self.sshd.config)),
            core_path=core_path,
            timeout_seconds=20.0,
            secret=self.secret,
        )
        self.started.append(HostsPlace(fanout=fanout).start(options))
        return self.started[-1]


@pytest.fixture
def cluster(sshd: Sshd, core: Path, tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster(sshd, core, tmp_path)
    yield made
    for launched in made.started:
        close_streams(launched)


def hosts_reached(core: Path) -> list[str]:
    """Returns the hosts to which an ssh of ours is connected. `ready` does not tell them: it rightly counts
    aliases of one machine as one node."""
    lines = [command_line(pid) for pid in processes_named("ssh")]
    return sorted(words[words.index("-x") + 1] for words in lines if any(str(core) in word for word in words))


def ends(launched: Launched, core: Path) -> int:
    status = launched.close(patience_seconds=15)
    await_none(core)
    return status


def test_a_tree_of_five_hosts_meets_and_ends_without_leaving_a_process(cluster: Cluster, core: Path) -> None:
    launched = cluster.start("h[1-5] slots=2", ranks=10)
    ready = Events(launched).until("ready")
    assert ready["ranks"] == 10
    assert hosts_reached(core) == list(ALIASES)
    assert sorted(ranks_of_nodes(core).values()) == [2] * 5
    assert ends(launched, core) == 0


def test_the_tree_has_the_requested_fanout(cluster: Cluster, core: Path) -> None:
    launched = cluster.start("h[1-5]", ranks=5, fanout=2)
    Events(launched).until("ready")
    ssh_of_node = [sum(name(child) == "ssh" for child in children(node)) for node in ranks_of_nodes(core)]
    # h1 starts the heads of {h2, h3} and {h4, h5}, and each head one more
    assert sorted(ssh_of_node) == [0, 0, 1, 1, 2]
    assert ends(launched, core) == 0


def test_localhost_needs_no_ssh_and_starts_the_others(cluster: Cluster, core: Path) -> None:
    launched = cluster.start("h1", "localhost slots=2", ranks=3)
    assert Events(launched).until("ready")["ranks"] == 3
    assert hosts_reached(core) == ["h1"]
    assert ranks_of_nodes(core)[launched.process.pid] == 2
    assert ends(launched, core) == 0


def test_unreachable_hosts_are_all_named_with_the_reason(cluster: Cluster, core: Path) -> None:
    # off1 heads a part of the tree, off2 hides behind another head
    launched = cluster.start("h1", "off1", "h2", "h3", "off2", ranks=5)
    with pytest.raises(SessionError) as caught:
        Session(launched).wait_ready()
    text = str(caught.value)
    assert "2 hosts could not be started" in text
    assert "off1: ssh: connect to host 127.0.0.1" in text
    assert "off2: ssh: connect to host 127.0.0.1" in text
    assert "Connection refused" in text
    assert launched.process.wait(15) == 1
    await_none(core)


def test_an_unreachable_first_host_is_named(cluster: Cluster) -> None:
    launched = cluster.start("off1", "h1", ranks=2)
    with pytest.raises(SessionError, match="Connection refused"):
        Session(launched).wait_ready()


def test_a_missing_core_on_a_host_is_reported_with_its_path(cluster: Cluster, core: Path) -> None:
    launched = cluster.start("localhost", "h1", ranks=2, core_path="/nowhere/crosscut-core")
    with pytest.raises(SessionError, match=r"h1: .*/nowhere/crosscut-core: (No such file|not found)"):
        Session(launched).wait_ready()
    await_none(core)


def test_killed_ssh_to_the_first_host_ends_every_node(cluster: Cluster, core: Path) -> None:
    launched = cluster.start("h[1-5]", ranks=5)
    Events(launched).until("ready")
    launched.process.kill()
    await_none(core)
    assert launched.close() != 0


def test_killed_ssh_to_a_further_host_names_its_ranks(cluster: Cluster, core: Path) -> None:
    launched = cluster.start("localhost", "h1 slots=2", "h2", ranks=4)
    events = Events(launched)
    events.until("ready")
    # localhost's node started h1 and h2; whichever dies, its ranks are named
    ssh = next(child for child in children(launched.process.pid) if name(child) == "ssh")
    os.kill(ssh, signal.SIGKILL)
    failed = events.until("failed-rank")
    assert failed["rank"] in (1, 2, 3)
    assert ends(launched, core) == 1
    said = "\n".join(launched.stderr_tail())
    assert re.search(r"(h1 \(ranks 1 to 2\)|h2 \(rank 3\)) was lost: \S*ssh was killed by signal 9", said), (
        said
    )


@pytest.mark.parametrize("victim", ["node", "all"])
def test_killed_nodes_leave_no_rank(cluster: Cluster, core: Path, victim: str) -> None:
    launched = cluster.start("localhost slots=2", "h[1-3] slots=2", ranks=8)
    Events(launched).until("ready")
    everyone = running(core)
    assert len(everyone) == 4 + 8
    for pid in [launched.process.pid] if victim == "node" else everyone:
        with contextlib.suppress(ProcessLookupError):  # ended by an earlier one's end
            os.kill(pid, signal.SIGKILL)
    await_none(core)
    launched.close()


def test_the_secret_is_in_no_command_line_and_no_environment(cluster: Cluster, core: Path) -> None:
    launched = cluster.start("h[1-3]", ranks=3)
    Events(launched).until("ready")
    looked_at = 0
    for process in Path("/proc").iterdir():
        for file in ("cmdline", "environ"):
            with contextlib.suppress(OSError):
                assert cluster.secret.encode() not in (process / file).read_bytes(), process
                looked_at += 1
    assert looked_at > 2 * 6
    assert ends(launched, core) == 0
