"""Programs that know nothing of crosscut run on a node as on a host, and see the lab's network."""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import sshd
from labs import crossbar, lab, needs_lab, on_node

from crosscut.lab import enter, state

pytestmark = [needs_lab, pytest.mark.usefixtures("own_labs")]
PAYLOAD_BITS_PER_SECOND = 100e6 * 1448 / 1538
PATIENCE_SECONDS = 20
_LISTEN = "0A"  # state of a TCP socket: net/tcp_states.h


def needs(program: str, package: str) -> pytest.MarkDecorator:
    path = shutil.which(program, path="/usr/sbin:/sbin:/usr/bin:/bin:/usr/local/bin")
    return pytest.mark.skipif(path is None, reason=f"no {program}: apt-get install {package}")


@contextlib.contextmanager
def started(record: state.Record, node: str, words: Sequence[str]) -> Iterator[subprocess.Popen[str]]:
    """Runs a program on a node."""
    command = enter.command(record, state.folder(record.name), node, words)
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True)
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE_SECONDS)


def await_listener(record: state.Record, node: str, port: int) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while True:
        tables = on_node(record, node, "cat", "/proc/self/net/tcp", "/proc/self/net/tcp6").splitlines()
        rows = [line.split() for line in tables]
        if any(row[1].endswith(f":{port:04X}") and row[3] == _LISTEN for row in rows):
            return
        assert time.monotonic() < end
        time.sleep(0.02)


@needs("iperf3", "iperf3")
def test_iperf3_measures_the_link_between_two_nodes(tmp_path: Path) -> None:
    rates: list[float] = []
    with lab(crossbar(tmp_path, 3)) as record, started(record, "n0002", ["iperf3", "-s"]):
        await_listener(record, "n0002", 5201)
        while len(rates) < 5 and max(rates, default=0) < 0.9 * PAYLOAD_BITS_PER_SECOND:
            said = json.loads(on_node(record, "n0000", "iperf3", "-c", "n0002", "-t", "2", "-J"))
            rates.append(said["end"]["sum_received"]["bits_per_second"])
    # A busy machine may lower a rate, and nothing may raise it.
    assert max(rates) == pytest.approx(PAYLOAD_BITS_PER_SECOND, rel=0.1), rates


@pytest.mark.long
@needs("NPtcp", "netpipe-tcp")
def test_netpipe_sees_the_rate_of_the_link_in_long_messages(tmp_path: Path) -> None:
    out = tmp_path / "np.out"
    words = ["NPtcp", "-l", "64", "-u", "1000000", "-n", "3"]  # each end computes sizes itself
    with lab(crossbar(tmp_path, 2)) as record, started(record, "n0001", words):
        await_listener(record, "n0001", 5002)
        on_node(record, "n0000", *words, "-h", "n0001", "-o", str(out))
    rates = [float(line.split()[1]) * 1e6 for line in out.read_text().splitlines()]  # bytes, Mbit/s, seconds
    assert rates[-1] == pytest.approx(PAYLOAD_BITS_PER_SECOND, rel=0.15)


@needs("tcpdump", "tcpdump")
def test_tcpdump_shows_the_frames_that_pass_an_adapter(tmp_path: Path) -> None:
    words = ["tcpdump", "--immediate-mode", "-Z", "root", "-l", "-nn", "-c", "1", "-i", "eth0", "udp port 9"]
    send = "import socket; socket.socket(type=socket.SOCK_DGRAM).sendto(bytes(100), ('n0001', 9))"
    with lab(crossbar(tmp_path, 2)) as record, started(record, "n0001", words) as watching:
        assert watching.stderr is not None
        assert watching.stdout is not None
        while "listening on eth0" not in watching.stderr.readline():
            assert watching.poll() is None
        on_node(record, "n0000", "python3", "-c", send)
        assert " IP 10.0.0.1." in (line := watching.stdout.readline())
        assert " > 10.0.0.2.9: UDP, length 100" in line


@pytest.mark.skipif(sshd.why_not() is not None, reason=str(sshd.why_not()))
def test_ssh_leads_from_one_node_to_another_by_its_name(tmp_path: Path) -> None:
    with lab(crossbar(tmp_path, 2)) as record, listening_sshd(record, "n0001", tmp_path) as options:
        assert on_node(record, "n0000", "ssh", *options, "n0001", "hostname").strip() == "n0001"
        # The command also sees the node's own network.
        seen = on_node(record, "n0000", "ssh", *options, "n0001", "cat /proc/net/fib_trie")
        assert "10.0.0.2" in seen


@contextlib.contextmanager
def listening_sshd(record: state.Record, node: str, folder: Path) -> Iterator[list[str]]:
    """Runs an sshd on a node. Yields the options with which ssh authenticates itself and the host."""
    for name in ("host_key", "user_key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    (folder / "sshd_config").write_text(
        f"Port 22\nHostKey {folder}/host_key\nPidFile {folder}/pid\nStrictModes no\nUsePAM no\n"
        f"AuthorizedKeysFile {folder}/user_key.pub\nPermitRootLogin prohibit-password\n"
    )
    (folder / "known").write_text(f"{node} {(folder / 'host_key.pub').read_text()}")
    with contextlib.suppress(OSError):
        Path("/run/sshd").mkdir(exist_ok=True)  # sshd's chroot before authentication
    path = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:/usr/bin") or ""
    with started(record, node, [path, "-D", "-f", str(folder / "sshd_config")]):
        await_listener(record, node, 22)
        yield ["-F", "none", "-i", f"{folder}/user_key", "-o", f"UserKnownHostsFile={folder}/known",
               "-o", "BatchMode=yes"]  # fmt: skip


def test_a_port_on_which_a_node_listens_is_closed_on_the_machine(tmp_path: Path) -> None:
    # Below the ephemeral ports of other tests' sockets.
    listen = "import socket, time; s = socket.create_server(('', 20123)); time.sleep(600)"
    with lab(crossbar(tmp_path, 2)) as record, started(record, "n0001", ["python3", "-c", listen]):
        await_listener(record, "n0001", 20123)
        with pytest.raises(ConnectionRefusedError), socket.create_connection(("127.0.0.1", 20123), timeout=2):
            pass
