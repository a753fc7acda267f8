"""Usage: sanitize.py CORE

Short sessions of a crosscut-core that was built with sanitizers (presets asan, tsan): every pattern over
every backend of this machine, computing beside it, verified, with a rank killed, interrupted. Fails where a
sanitizer reports anything, or a session does not end as it should.
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
PATIENCE_SECONDS = 300
Event = dict[str, Any]


def small(pattern: Event) -> dict[str, str]:
    """Parameters that keep a run short: sanitizers make everything ten times as slow."""
    values = {"pairs": "0-1,2-3"} if pattern["name"] == "pairs" else {}
    for parameter in pattern["parameters"]:
        name, default = parameter["name"], parameter["default"]
        if parameter["kind"] == "integer" and name != "seed" and default and int(default) > SMALL_COUNT:
            values[name] = str(SMALL_COUNT)
        if parameter["kind"] == "bytes" and default.upper().endswith(("MB", "MIB", "GB", "GIB")):
            values[name] = str(SMALL_BYTES)
    return values


class Session:
    def __init__(self, core: Path, folder: Path, backend: str) -> None:
        self.folder, self.backend, self.jobs = folder, backend, 0
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
        self.say({"ranks": RANKS, "backend": backend, "secret": os.urandom(32).hex(), "timeout_seconds": 60})
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
        self.say({"do": "run", "job": job | {"sizes": [2000], "repetitions": 2, "iterations": 2} | options})

    def end(self, *statuses: int) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        for _ in self.events():
            pass
        status = self.process.wait(PATIENCE_SECONDS)
        if status not in statuses:
            raise SystemExit(f"sanitize: {self.backend}: exit status {status}")


def every_pattern(session: Session, patterns: list[Event], live: bool) -> None:
    for pattern in patterns:
        for options in ({}, {"compute": True}, {"verify": True}):
            if options.get("verify") and not live:
                continue  # nothing is moved
            session.start(pattern["name"], small(pattern), **options)
            session.until("finished")
    session.end(0)


def endless(session: Session) -> None:
    session.start("aapc", {}, repetitions=1_000_000, tolerate_failures=True)
    session.until("progress")


def killed_rank(session: Session, _patterns: list[Event], _live: bool) -> None:
    endless(session)
    children = Path(f"/proc/{session.process.pid}/task/{session.process.pid}/children").read_text().split()
    os.kill(int(children[-1]), signal.SIGKILL)
    session.until("failed-rank")
    session.until("progress")  # it goes on without
    session.say({"do": "stop"})
    session.until("finished")
    session.end(0, 1)


def interrupted(session: Session, _patterns: list[Event], _live: bool) -> None:
    endless(session)
    session.process.send_signal(signal.SIGINT)
    session.until("ended")
    session.end(130)


def main() -> None:
    core = Path(sys.argv[1]).resolve()
    listed = json.loads(subprocess.run([core, "list", "--json"], check=True, capture_output=True).stdout)
    scenes: tuple[Callable[[Session, list[Event], bool], None], ...] = (
        every_pattern,
        killed_rank,
        interrupted,
    )
    for backend in listed["backends"]:
        if backend.get("unavailable"):
            print(f"sanitize: {backend['name']}: skipped, {backend['unavailable']}")
            continue
        for scene in scenes:
            if scene is killed_rank and not backend["tolerates_failure"]:
                continue
            began = time.monotonic()
            with tempfile.TemporaryDirectory() as folder:
                scene(Session(core, Path(folder), backend["name"]), listed["patterns"], backend["live"])
                reports = sorted(Path(folder).glob("report.*"))
                if reports:
                    raise SystemExit("\n".join(report.read_text() for report in reports))
            print(
                f"sanitize: {backend['name']}, {scene.__name__}: clean, {time.monotonic() - began:.0f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
