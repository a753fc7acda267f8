#!/usr/bin/env python3
"""A `crosscut-core` that measures nothing: it speaks the session protocol, and misbehaves on request.

CROSSCUT_FAKE names the behaviour: `good` (the default), `crash`, `garbage`, `no-event`, `silent-end`,
`refuse`, `wrong-byte`, `wait-for-stop`, `launcher`, `banner`, `never-ready`,
`dies-of-closed-input`. With `good`, the run named in
CROSSCUT_FAKE_RUN is copied to the job's `out`, to test the steps after a measurement.
"""

import json
import os
import select
import shutil
import sys
from pathlib import Path

BEHAVIOUR = os.environ.get("CROSSCUT_FAKE", "good")

LISTED = {
    "version": "0.0-fake",
    "patterns": [
        {
            "name": "aapc",
            "summary": "Everyone to everyone, phase by phase",
            "answers": "How fast is 100 % of an exchange?",
            "formula": "2 m / t_slowest",
            "formula_per": "rank",
            "source": "nobody 2000",
            "shape": "dense",
            "findings": True,
            "latency": True,
            "evaluation": "shared sizes",
            "parameters": [
                {"name": "stride", "kind": "integer", "unit": "ranks", "default": "1",
                 "help": "distance of partners, 5 % at least", "choices": [], "minimum": 1, "maximum": 9},
                {"name": "seed", "kind": "integer", "unit": "", "default": "7", "help": "collides",
                 "choices": []},
                {"name": "mode", "kind": "choice", "unit": "", "default": "one", "help": "which",
                 "choices": ["one", "both"]},
            ],
        },
        {"name": "pingpong", "summary": "There and back", "answers": "How long?", "formula": "m / t",
         "formula_per": "rank", "source": "nobody 2000", "shape": "sweep", "findings": False, "latency": True,
         "evaluation": "own sizes", "parameters": []},
    ],
    "backends": [
        {"name": "tcp", "summary": "TCP", "live": True, "available": True, "unavailable": "",
         "parameters": [{"name": "nodelay", "kind": "boolean", "unit": "", "default": "true",
                         "help": "send at once", "choices": []}]},
        {"name": "null", "summary": "nothing", "live": False, "available": True, "unavailable": "",
         "parameters": []},
        {"name": "mpi", "summary": "MPI", "live": True, "over_mpi": True, "available": False,
         "unavailable": "this executable has no MPI", "parameters": []},
    ],
}  # fmt: skip


def say(event, **members):
    print(json.dumps({"event": event, **members}), flush=True)


def run(job):
    """Runs one job as CROSSCUT_FAKE says. Returns the exit status to end with, or None to go on."""
    if os.environ.get("CROSSCUT_FAKE_JOBS"):
        with Path(os.environ["CROSSCUT_FAKE_JOBS"]).open("a") as file:
            file.write(json.dumps(job) + "\n")
    if BEHAVIOUR == "refuse":
        message = os.environ.get("CROSSCUT_FAKE_MESSAGE", "pattern aapc needs an even number of ranks")
        say("error", message=message, kind="usage")
        return None
    say(
        "started",
        out=job["out"],
        pattern=job["pattern"],
        sizes=[1000],
        phases=3,
        repetitions=4,
        blocks_done=0,
    )
    say("progress", size=1000, size_index=0, phase=2, phases=3, repetition=1, repetitions=4, done=0.5,
        phase_seconds=0.001, rate=1e6, elapsed=1.0, eta=61.0)  # fmt: skip
    say("warning", message="a [bold] warning")
    if BEHAVIOUR == "crash":
        print("terminate called: segmentation fault in rank 3", file=sys.stderr, flush=True)
        return 139
    if BEHAVIOUR == "launcher":  # like MPICH's when a process was killed
        say("failed-rank", rank=1, node="n001", reason="the other end closed the connection")
        print("\n=====\n=   BAD TERMINATION\n=   PID 77 RUNNING AT n001\nKilled (signal 9)", flush=True)
        return 9
    if BEHAVIOUR == "banner":
        print("YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)", flush=True)
        return 9
    if BEHAVIOUR == "garbage":
        print("hello, world", flush=True)
    if BEHAVIOUR == "no-event":
        print('["event"]', flush=True)
    if BEHAVIOUR == "wrong-byte":
        say("verify-failed", source=3, destination=5, phase=2, size=1000, offset=4, expected=17, found=81)
    state = "complete"
    if BEHAVIOUR == "wait-for-stop":
        say("progress", size=1000, phase=3, phases=3, repetition=1, repetitions=4, done=0.6, eta=1.0)
        while json.loads(sys.stdin.readline() or '{"do": "stop"}')["do"] != "stop":
            pass
        state = "stopped"
    if source := os.environ.get("CROSSCUT_FAKE_RUN"):
        shutil.copytree(source, job["out"], dirs_exist_ok=True)
    say("finished", out="another job's", state="failed", elapsed=0.1)
    say("finished", out=job["out"], state=state, elapsed=1.5)
    return None


def node():
    configuration = json.loads(sys.stdin.readline())
    if BEHAVIOUR == "silent-end":
        return 1
    if BEHAVIOUR == "never-ready":
        print("rank 3 died", file=sys.stderr, flush=True)
        sys.stdin.read()
        return 1
    say("ready", ranks=configuration["ranks"], nodes=[{"name": "n001", "ranks": [0, 1]}])
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "end":
            if BEHAVIOUR == "dies-of-closed-input" and select.select([sys.stdin], [], [], 0.2)[0]:
                return 128 + 13
            break
        if request["do"] == "run" and (status := run(request["job"])) is not None:
            return status
    say("ended")
    return 0


def coordinates():
    """With `refuse`, refuses like the core does an invalid number of ranks."""
    job = json.load(sys.stdin)
    refused = BEHAVIOUR == "refuse" and job["pattern"] == "pingpong"
    why = "pattern pingpong: an even number of ranks is needed" if refused else "there are phases 1 to 3"
    print(f"crosscut-core: {why}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    if sys.argv[1:2] == ["coordinates"]:
        sys.exit(coordinates())
    if sys.argv[1:] == ["list", "--json"]:
        print("no json" if BEHAVIOUR == "bad-list" else json.dumps(LISTED))
        sys.exit(0)
    sys.exit(node())
