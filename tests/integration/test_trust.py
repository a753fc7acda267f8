"""A stranger without the session's secret cannot get in, disturb the session, or find out the secret."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from measuring import check_whole
from processes import await_none, parent, running
from strangers import CHALLENGE_BYTES, CROWD, Address, Strangers, accepted, connected, heard, listeners, proof
from under_way import PATIENCE_SECONDS, private_core, rank_processes, wait_until

from crosscut.base import core
from crosscut.base.job import Event, Job
from crosscut.session.client import Session
from crosscut.session.measure import Launch, decide, open_session

if core.find_executable(core.CORE) is None:
    pytest.skip("crosscut-core is not built", allow_module_level=True)

RANKS = 4
ROUNDS = 2
STRANGERS = 100_000
# Memory that a thousand strangers may cost a rank: it holds them in 512 slots of less than a kilobyte.
MOST_GROWTH_BYTES = 16 << 20
CONNECTION_DESCRIPTORS = 2 * CROWD + 500


@pytest.fixture
def binaries(quick_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = private_core(quick_path, monkeypatch.setenv)
    yield folder
    core.load.cache_clear()
    await_none(folder / core.CORE)


@pytest.fixture
def descriptors() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < CONNECTION_DESCRIPTORS:
        pytest.skip(
            f"a process may open only {hard} files here (ulimit -Hn); {CONNECTION_DESCRIPTORS} are needed"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, CONNECTION_DESCRIPTORS), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def job(out: Path, **options: object) -> Job:
    return Job(
        pattern="aapc", out=out, sizes=(2000,), options={"repetitions": 200, "iterations": 1} | options,
        metadata={"ranks": RANKS, "on": "", "command_line": ["crosscut", "run", "aapc"]},
    )  # fmt: skip


@contextlib.contextmanager
def opened() -> Iterator[tuple[Session, str, list[Event]]]:
    """Opens a session; yields it with its secret and its events."""
    decided = decide(core.load(), Launch(backend="tcp", ranks=RANKS))
    events: list[Event] = []
    session = open_session(decided, events.append)
    try:
        session.wait_ready()
        yield session, decided.options.secret, events
    finally:
        session.close()


def resident_bytes(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    (line,) = [line for line in lines if line.startswith("VmRSS:")]
    return int(line.split()[1]) * 1024


def test_strangers_neither_get_in_nor_disturb_a_session(
    binaries: Path, quick_path: Path, descriptors: None
) -> None:
    executable = binaries / core.CORE
    strangers = Strangers(executable)  # before the ranks have met
    try:
        with opened() as (session, _, events):
            (ready,) = [event for event in events if event["event"] == "ready"]
            assert ready["ranks"] == RANKS
            _, ranks = rank_processes(executable, RANKS)
            session.run(job(quick_path / "first"))
            before = [resident_bytes(pid) for pid in ranks]
            runs = [quick_path / "first"]
            since, end = strangers.rounds, time.monotonic() + PATIENCE_SECONDS
            while strangers.rounds < since + ROUNDS:
                assert time.monotonic() < end, "the strangers never came round"
                runs.append(quick_path / f"run-{len(runs)}")
                outcome = session.run(job(runs[-1]))
                assert outcome.state == "complete"
            after = [resident_bytes(pid) for pid in ranks]
            assert rank_processes(executable, RANKS)[1] == ranks, "the ranks are those of the start"
    finally:
        strangers.end()
    for run in runs:
        check_whole(run)
    assert strangers.learnt == []
    assert strangers.challenged > 0, "no stranger was ever heard"
    assert not [event for event in events if event["event"] in ("error", "failed-rank")]
    assert max(b - a for a, b in zip(before, after, strict=True)) < MOST_GROWTH_BYTES


@pytest.mark.long
def test_a_hundred_thousand_connections_of_strangers_change_nothing(
    binaries: Path, quick_path: Path, descriptors: None
) -> None:
    """They come before, while and after the ranks join, in one session after another."""
    executable = binaries / core.CORE
    strangers = Strangers(executable, one_by_one=20)
    sessions = runs = 0
    try:
        while strangers.connections < STRANGERS:
            with opened() as (session, secret, events):
                sessions += 1
                since, end = strangers.rounds, time.monotonic() + 10 * PATIENCE_SECONDS
                for _, challenge in challenges(listeners(executable)):
                    strangers.overheard = proof(bytes.fromhex(secret), challenge, rank=1)
                while strangers.rounds < since + ROUNDS:
                    assert time.monotonic() < end, "the strangers never came round"
                    runs += 1
                    out = quick_path / "run"
                    assert session.run(job(out)).state == "complete"
                    check_whole(out)
                    shutil.rmtree(out)
                assert not [event for event in events if event["event"] in ("error", "failed-rank")]
    finally:
        strangers.end()
    print(
        f"{strangers.connections} connections, {strangers.challenged} challenged alone; "
        f"{sessions} sessions, {runs} runs"
    )
    assert strangers.learnt == []
    assert sessions > 1


def challenges(addresses: set[Address]) -> Iterator[tuple[Address, bytes]]:
    """Yields the challenges of all current listeners (not rank 0's meeting point, once all have joined)."""
    for address in addresses:
        with connected(address, 1) as connection:
            if len(challenge := heard(connection, CHALLENGE_BYTES)) == CHALLENGE_BYTES:
                yield address, challenge


def test_an_overheard_hello_opens_nothing(binaries: Path, quick_path: Path) -> None:
    with opened() as (session, secret, _):
        ports = [address for address, _ in challenges(listeners(binaries / core.CORE))]
        assert len(ports) >= RANKS
        for address in ports:
            with connected(address, PATIENCE_SECONDS) as connection:
                challenge = heard(connection, CHALLENGE_BYTES)
                said = proof(bytes.fromhex(secret), challenge, rank=1)
                connection.send(said)
                answer = heard(connection, 32)
                assert answer == accepted(bytes.fromhex(secret), challenge, said), "the right hello opens"
            for _ in range(3):
                with connected(address, PATIENCE_SECONDS) as connection:
                    other = heard(connection, CHALLENGE_BYTES)
                    assert len(other) == CHALLENGE_BYTES
                    assert other != challenge
                    connection.send(said)
                    assert heard(connection, 1) == b"", "said again it opens nothing"
        assert session.run(job(quick_path / "run")).state == "complete"
    check_whole(quick_path / "run")


def test_listeners_are_on_the_named_interface_only_and_close_with_the_session(binaries: Path) -> None:
    with opened():
        ports = listeners(binaries / core.CORE)
        assert len(ports) == RANKS + 1
        assert {host for host, _ in ports} == {"127.0.0.1"}
    wait_until(lambda: not running(binaries / core.CORE), "ranks are left")
    for address in ports:
        with pytest.raises(ConnectionRefusedError), connected(address, 1):
            pass


def readable(name: str) -> Iterator[tuple[int, bytes]]:
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and int(process.name) != os.getpid():
            with contextlib.suppress(OSError):
                yield int(process.name), (process / name).read_bytes()


def test_the_secret_is_on_no_command_line_and_in_no_environment(binaries: Path) -> None:
    with opened() as (_, secret, _):
        needles = (secret.encode(), bytes.fromhex(secret))
        looked_at = {"cmdline": 0, "environ": 0}
        for name in looked_at:
            for pid, text in readable(name):
                looked_at[name] += 1
                assert not any(needle in text for needle in needles), f"/proc/{pid}/{name}"
        ours = running(binaries / core.CORE)
        assert len(ours) == RANKS + 1
        assert looked_at["environ"] >= len(ours)
        assert all(parent(pid) in (*ours, os.getpid()) for pid in ours)


def test_a_secret_from_the_environment_is_wiped_there(
    binaries: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "5eC2" * 16
    configuration = b'{"ranks": 2, "backend": "null"}\n'
    node = subprocess.Popen(
        [str(binaries / core.CORE), "node"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | {"CROSSCUT_SECRET": secret},
    )  # fmt: skip
    assert node.stdin is not None
    assert node.stdout is not None
    try:
        node.stdin.write(configuration)
        node.stdin.flush()
        assert b'"ready"' in node.stdout.readline()
        for pid in running(binaries / core.CORE):
            environment = Path(f"/proc/{pid}/environ").read_bytes()
            assert b"CROSSCUT_CORE" in environment, "this is the environment"
            assert secret.encode() not in environment
    finally:
        node.stdin.close()
        end = time.monotonic() + PATIENCE_SECONDS
        while node.poll() is None and time.monotonic() < end:
            node.stdout.readline()
        node.stdout.close()
        assert node.wait(PATIENCE_SECONDS) == 0
