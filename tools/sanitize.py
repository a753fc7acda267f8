"""Usage: sanitize.py CORE

Runs short sessions of a crosscut-core built with sanitizers (presets asan, tsan): every pattern over every
available backend, plain, with computation and with verification; sessions with a killed rank or an
interrupt; and copies of a file down a chain. Fails if a sanitizer reports anything or a session ends wrongly.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

RANKS = 4
SMALL_COUNT, SMALL_BYTES = 6, 20_000
# Enough chunks that a copy can be interrupted halfway.
IMAGE_BYTES, CHUNK_BYTES = 16 << 20, 4 << 10
PATIENCE_SECONDS = 300
# Stands for a backend's name in sessions that copy (core/src/clone).
COPYING = "clone"
Event = dict[str, Any]


def small(pattern: Event) -> dict[str, str]:
    """Returns parameters that keep a run short, since sanitizers slow it down tenfold."""
    values = {"pairs": "0-1,2-3"} if pattern["name"] == "pairs" else {}
    for parameter in pattern["parameters"]:
        name, default = parameter["name"], parameter["default"]
        if parameter["kind"] == "integer" and name != "seed" and default and int(default) > SMALL_COUNT:
            values[name] = str(SMALL_COUNT)
        if parameter["kind"] == "bytes" and default.upper().endswith(("MB", "MIB", "GB", "GIB")):
            values[name] = str(SMALL_BYTES)
    return values


class Session:
    def __init__(self, core: Path, folder: Path, backend: str, live: bool = True) -> None:
        self.core, self.folder, self.backend, self.live, self.jobs = core, folder, backend, live, 0
        reports = folder / "report"
        options = f"log_path={reports}:halt_on_error=1:exitcode=66"
        environment = os.environ | {
            "ASAN_OPTIONS": f"{options}:detect_leaks=1:strict_string_checks=1",
            "UBSAN_OPTIONS": f"{options}:print_stacktrace=1",
            "TSAN_OPTIONS": options,
        }
        self.process = subprocess.Popen(
            [core, "node"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        line = {"ranks": RANKS, "backend": backend, "secret": os.urandom(32).hex(), "timeout_seconds": 60}
        # Copies use both addresses.
        self.say(line | ({"interface": "127.0.0.1,127.0.0.2"} if backend == COPYING else {}))
        self.until("ready")

    def say(self, value: Event) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(value) + "\n")
        self.process.stdin.flush()

    def events(self) -> Iterator[Event]:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            yield json.loads(line)

    def until(self, *names: str) -> Event:
        for event in self.events():
            if event["event"] in names:
                return event
            if event["event"] == "error":
                raise SystemExit(f"sanitize: {self.backend}: {event['message']}")
        raise SystemExit(f"sanitize: {self.backend}: the session ended without {names}")

    def start(self, pattern: str, parameters: dict[str, str], **options: object) -> None:
        self.jobs += 1
        out = str(self.folder / f"{self.backend}-{self.jobs}")
        job = {"pattern": pattern, "pattern_parameters": parameters, "backend": self.backend, "out": out}
        # A simulation computes every phase once.
        iterations = 2 if self.live else 1
        small = {"sizes": [2000], "repetitions": 2, "iterations": iterations}
        self.say({"do": "run", "job": job | small | options})

    def end(self, *statuses: int) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        for _ in self.events():
            pass
        status = self.process.wait(PATIENCE_SECONDS)
        if status not in statuses:
            raise SystemExit(f"sanitize: {self.backend}: exit status {status}")


Scene = Callable[[Session, list[Event], bool], None]


def every_pattern(session: Session, patterns: list[Event], live: bool) -> None:
    for pattern in patterns:
        # A simulation moves no bytes, and no rank of it can compute beside the pattern.
        for options in ({}, {"compute": True}, {"verify": True}) if live else ({},):
            session.start(pattern["name"], small(pattern), **options)
            session.until("finished")
    session.end(0)


def endless(session: Session) -> None:
    session.start("aapc", {}, repetitions=1_000_000, tolerate_failures=True)
    session.until("progress")


def ranks_of(session: Session) -> list[int]:
    """Returns the process ids of the ranks, in rank order: the order in which they were forked."""
    children = Path(f"/proc/{session.process.pid}/task/{session.process.pid}/children").read_text()
    return list(map(int, children.split()))


def killed_rank(session: Session, _patterns: list[Event], _live: bool) -> None:
    endless(session)
    os.kill(ranks_of(session)[-1], signal.SIGKILL)
    session.until("failed-rank")
    session.until("progress")  # the run goes on without the rank
    session.say({"do": "stop"})
    session.until("finished")
    session.end(0, 1)


def interrupted(session: Session, _patterns: list[Event], _live: bool) -> None:
    endless(session)
    session.process.send_signal(signal.SIGINT)
    session.until("ended")
    session.end(130)


def copies(session: Session) -> list[Path]:
    """Returns the targets of ranks 1, 2, …"""
    return [session.folder / f"copy-{rank}" for rank in range(1, RANKS)]


def start_copying(session: Session, *, resume: bool = False) -> None:
    source = session.folder / "source"
    if not source.exists():
        source.write_bytes(os.urandom(IMAGE_BYTES))
    job = {"source": str(source), "target": str(session.folder / "copy-{rank}"), "chunk_bytes": CHUNK_BYTES}
    session.say({"do": "clone", "job": job | {"resume": resume}})


def copied(session: Session, victim: int | None = None) -> Event:
    """Waits for the outcome, and checks that every rank but `victim` holds a verified copy of the source."""
    outcome = session.until("cloned")
    whole = (session.folder / "source").read_bytes()
    for node in outcome["nodes"]:
        made = copies(session)[node["rank"] - 1]
        if (node["state"] == "verified") != (node["rank"] != victim):
            raise SystemExit(f"sanitize: {COPYING}: rank {node['rank']} is {node['state']}: {node['reason']}")
        if node["rank"] != victim and made.read_bytes() != whole:
            raise SystemExit(f"sanitize: {COPYING}: {made} is not the source")
    return outcome


def await_growth(file: Path) -> None:
    """Waits until part of the file has been written."""
    until = time.monotonic() + PATIENCE_SECONDS
    while not (file.exists() and file.stat().st_blocks):
        if time.monotonic() > until:
            raise SystemExit(f"sanitize: {COPYING}: {file} did not grow")
        time.sleep(0.005)


def copies_down_a_chain(session: Session, *_: object) -> None:
    start_copying(session)
    copied(session)
    session.end(0)


def killed_in_the_chain_and_resumed(session: Session, *_: object) -> None:
    victim = 2
    start_copying(session)
    await_growth(copies(session)[-1].with_name(f"copy-{RANKS - 1}.crosscut-clone"))
    os.kill(ranks_of(session)[victim], signal.SIGKILL)
    copied(session, victim)
    session.end(1)
    again = Session(session.core, session.folder, COPYING)
    start_copying(again, resume=True)
    outcome = copied(again)
    if any(node["received_bytes"] for node in outcome["nodes"] if node["rank"] != victim):
        raise SystemExit(f"sanitize: {COPYING}: bytes that a rank already had were sent again")
    again.end(0)


def interrupted_while_copying(session: Session, *_: object) -> None:
    start_copying(session)
    await_growth(copies(session)[-1].with_name(f"copy-{RANKS - 1}.crosscut-clone"))
    session.process.send_signal(signal.SIGINT)
    session.until("cloned")
    session.end(130)


MEASURING: tuple[Scene, ...] = (every_pattern, killed_rank, interrupted)
CHAINS: tuple[Scene, ...] = (
    copies_down_a_chain,
    killed_in_the_chain_and_resumed,
    interrupted_while_copying,
)


def play(core: Path, backend: str, scene: Scene, patterns: list[Event], live: bool) -> None:
    """Plays a scene in a new session. Raises SystemExit with the sanitizers' reports, if there are any."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        scene(Session(core, Path(folder), backend, live), patterns, live)
        reports = sorted(Path(folder).glob("report.*"))
        if reports:
            raise SystemExit("\n".join(report.read_text() for report in reports))
    seconds = time.monotonic() - began
    print(f"sanitize: {backend}, {scene.__name__}: clean, {seconds:.0f} s", flush=True)


def main() -> None:
    core = Path(sys.argv[1]).resolve()
    listed = json.loads(subprocess.run([core, "list", "--json"], check=True, capture_output=True).stdout)
    for backend in listed["backends"]:
        if backend.get("unavailable"):
            print(f"sanitize: {backend['name']}: skipped, {backend['unavailable']}")
            continue
        for scene in MEASURING:
            if scene is killed_rank and not backend["tolerates_failure"]:
                continue
            play(core, backend["name"], scene, listed["patterns"], backend["live"])
    for scene in CHAINS:
        play(core, COPYING, scene, [], True)


if __name__ == "__main__":
    main()
