"""Strangers who attack the ports of a session, and must learn nothing."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from processes import running

CHALLENGE_BYTES = 40  # magic, nonce: all that an unproven peer hears
HELLO = struct.Struct("<IiIII")  # purpose, rank, epoch, channel, rail
DATA_PURPOSE = 3
CROWD = 1000
LISTEN_STATE = "0A"

Address = tuple[str, int]


def listeners(executable: Path) -> set[Address]:
    """Returns the addresses on which processes of this executable listen for TCP."""
    inodes = set()
    for pid in running(executable):
        with contextlib.suppress(OSError):
            for entry in Path(f"/proc/{pid}/fd").iterdir():
                with contextlib.suppress(OSError):
                    inodes.add(str(entry.readlink()))
    found = set()
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        words = line.split()
        if words[3] == LISTEN_STATE and f"socket:[{words[9]}]" in inodes:
            host, _, port = words[1].partition(":")
            found.add((socket.inet_ntoa(struct.pack("<I", int(host, 16))), int(port, 16)))
    return found


@contextlib.contextmanager
def connected(address: Address, patience_seconds: float) -> Iterator[socket.socket]:
    with socket.create_connection(address, timeout=patience_seconds) as connection:
        yield connection


def heard(connection: socket.socket, most: int) -> bytes:
    """Receives up to `most` bytes, until the other end closes or patience ends."""
    said = b""
    with contextlib.suppress(OSError):
        while len(said) < most and (chunk := connection.recv(most - len(said))):
            said += chunk
    return said


def proof(secret: bytes, challenge: bytes, rank: int) -> bytes:
    """Returns the answer of a rank that knows `secret`."""
    said = HELLO.pack(DATA_PURPOSE, rank, 0xFFFFFFFF, 0, 0) + secrets.token_bytes(32)
    nonce = challenge[CHALLENGE_BYTES - 32 :]
    return said + hmac.new(secret, b"connect" + nonce + said, hashlib.sha256).digest()


def accepted(secret: bytes, challenge: bytes, said: bytes) -> bytes:
    """Returns the listener's proof in reply."""
    nonce = challenge[CHALLENGE_BYTES - 32 :]
    return hmac.new(secret, b"accept" + nonce + said[:-32], hashlib.sha256).digest()


class Strangers:
    """Repeats all attacks on every port of a session's processes, until the end."""

    def __init__(self, executable: Path, one_by_one: int = 0) -> None:
        """`one_by_one`: how often each attack is made alone, besides once beside a crowd."""
        self._executable = executable
        self._one_by_one = one_by_one
        self._ending = threading.Event()
        self._crowd: list[socket.socket] = []
        self.overheard = b""
        """A rank's answer to an earlier challenge, to be said again."""
        self.rounds = 0
        self.connections = 0
        self.challenged = 0
        self.learnt: list[str] = []
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._ending.set()
        self._thread.join()
        self._scatter()

    def _run(self) -> None:
        while not self._ending.is_set():
            ports = listeners(self._executable)
            if not ports:
                time.sleep(0.001)  # short, to catch a port as soon as it opens
                continue
            alone = (self.silent, self.garbage, self.long, self.wrong_secret, self.half, self.replay)
            for address in ports:
                for attack in (*alone, self.crowd):
                    self._try(attack, address)
            self._scatter()  # whose place others now take
            for address in ports:
                for attack in alone * self._one_by_one:
                    self._try(attack, address)
            self.rounds += 1

    def _try(self, attack: Callable[[Address], bytes], address: Address) -> None:
        said = b""
        self.connections += 1
        with contextlib.suppress(OSError):  # refused or reset: not let in
            said = attack(address)
        self.challenged += len(said) == CHALLENGE_BYTES
        if len(said) > CHALLENGE_BYTES:
            self.learnt.append(f"{attack.__name__}: {said.hex()}")

    def silent(self, address: Address) -> bytes:
        """Connects, sends one byte, and stays."""
        connection = socket.create_connection(address, timeout=0.1)
        self._crowd.append(connection)
        connection.send(b"\0")
        return heard(connection, CHALLENGE_BYTES + 1)

    def garbage(self, address: Address) -> bytes:
        with connected(address, 0.1) as connection:
            connection.send(os.urandom(4096))
            return heard(connection, CHALLENGE_BYTES + 1)

    def long(self, address: Address) -> bytes:
        """Sends a megabyte of another protocol."""
        with connected(address, 0.1) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: rank\r\nCookie: " + b"x" * 1_000_000)
            return heard(connection, CHALLENGE_BYTES + 1)

    def wrong_secret(self, address: Address) -> bytes:
        with connected(address, 0.1) as connection:
            challenge = heard(connection, CHALLENGE_BYTES)
            if len(challenge) == CHALLENGE_BYTES:
                connection.send(proof(secrets.token_bytes(32), challenge, 1))
            return challenge + heard(connection, 1)

    def half(self, address: Address) -> bytes:
        """Disconnects in the middle of an answer."""
        with connected(address, 0.1) as connection:
            challenge = heard(connection, CHALLENGE_BYTES)
            connection.send(os.urandom(40))
            return challenge

    def replay(self, address: Address) -> bytes:
        with connected(address, 0.1) as connection:
            challenge = heard(connection, CHALLENGE_BYTES)
            connection.send(self.overheard)
            return challenge + heard(connection, 1)

    def crowd(self, address: Address) -> bytes:
        """Opens CROWD connections at once, which stay until the next crowd.

        They are silent, or send garbage, half an answer, or one that was overheard.
        """
        self._scatter()
        said = (b"", os.urandom(200), os.urandom(40), self.overheard)
        for number in range(CROWD):
            connection = socket.socket()
            connection.setblocking(False)
            connection.connect_ex(address)
            self._crowd.append(connection)
            with contextlib.suppress(OSError):
                connection.send(said[number % len(said)])
        self.connections += CROWD - 1
        return b""

    def _scatter(self) -> None:
        for connection in self._crowd:
            connection.close()
        self._crowd.clear()
