"""Checks that SimGrid accepts an option, before a program is compiled and a platform written.

SimGrid itself aborts with a list of its two hundred options, in which the mistake is hard to find.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from crosscut.base.errors import UsageError

_PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><zone id="one" routing="Full"><host id="host" speed="1Gf"/></zone></platform>
"""
_COMPLAINT = re.compile(r"CRITICAL\] (?:Uncaught exception [\w:]+: )?(.+)")
_SECONDS = 20


def check(options: Sequence[str], launcher: str, quiet: Sequence[str], folder: Path) -> None:
    """Raises UsageError for the first `NAME:VALUE` that SimGrid refuses."""
    if not options:
        return
    platform, hosts = folder / "one-host.xml", folder / "one-host"
    platform.write_text(_PLATFORM, encoding="ascii")
    hosts.write_text("host\n", encoding="ascii")
    for option in options:
        command = [launcher, "-quiet", "-np", "1", "-platform", str(platform), "-hostfile", str(hosts),
                   *quiet, f"--cfg={option}", "/bin/true"]  # fmt: skip
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, errors="replace", timeout=_SECONDS, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return  # not because of an option: the simulation will report it
        if said := complaint(done.stdout + done.stderr):
            raise UsageError(f"--option {option}: SimGrid refuses it: {said}")


def complaint(said: str) -> str:
    """Returns the line with the complaint from SimGrid's output; empty if there is none."""
    found = _COMPLAINT.search(said)
    # SimGrid complains about /bin/true, which is not an SMPI program, only after it has accepted all options.
    return found[1].strip() if found and not found[1].startswith("dlopen failed") else ""
