"""A private sshd on loopback with its own port, host key and user key; aliases stand for several hosts."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

START_SECONDS = 10


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def why_not() -> str | None:
    """Returns why no sshd can be started here, or None."""
    if shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:/usr/bin") is None:
        return "no sshd: apt-get install openssh-server"
    if shutil.which("ssh") is None or shutil.which("ssh-keygen") is None:
        return "no ssh: apt-get install openssh-client"
    return None


@dataclass(frozen=True)
class Sshd:
    config: Path
    """For `ssh -F`: the aliases, and `off`, a port on which nothing listens."""
    process: subprocess.Popen[bytes]


def _key(path: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)


def _await_port(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.02)
    raise RuntimeError(f"sshd does not listen: {log.read_text()}")


@contextlib.contextmanager
def running_sshd(folder: Path, aliases: Sequence[str]) -> Iterator[Sshd]:
    """Runs an sshd."""
    folder.mkdir()
    _key(folder / "host_key")
    _key(folder / "user_key")
    shutil.copy(folder / "user_key.pub", folder / "authorized_keys")
    port, closed_port = free_port(), free_port()
    (folder / "sshd_config").write_text(
        f"ListenAddress 127.0.0.1\nPort {port}\nHostKey {folder}/host_key\nPidFile {folder}/pid\n"
        f"AuthorizedKeysFile {folder}/authorized_keys\nStrictModes no\nUsePAM no\n"
        "PasswordAuthentication no\nPermitRootLogin prohibit-password\nMaxStartups 100\n"
    )
    host_key = (folder / "host_key.pub").read_text().split(" ")
    (folder / "known_hosts").write_text(f"* {host_key[0]} {host_key[1]}\n")
    options = (
        f"HostName 127.0.0.1\n  IdentityFile {folder}/user_key\n  IdentitiesOnly yes\n"
        f"  UserKnownHostsFile {folder}/known_hosts\n  GlobalKnownHostsFile /dev/null\n"
    )
    (folder / "config").write_text(
        f"Host {' '.join(aliases)}\n  {options}  Port {port}\nHost off*\n  {options}  Port {closed_port}\n"
    )
    if Path("/run").stat().st_uid == 0:  # as root sshd requires this folder
        with contextlib.suppress(OSError):
            Path("/run/sshd").mkdir(exist_ok=True)
    log = folder / "log"
    sshd = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:/usr/bin")
    assert sshd is not None
    process = subprocess.Popen([sshd, "-D", "-f", folder / "sshd_config", "-E", log])
    try:
        _await_port(port, process, log)
        yield Sshd(folder / "config", process)
    finally:
        process.terminate()
        process.wait(10)
