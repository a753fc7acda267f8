"""Replays with SMPI; runs any simulator within limits of time and memory, and always ends it."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from crosscut.base import process_group, units
from crosscut.base.errors import CrosscutError, plainly
from crosscut.network import description as networks
from crosscut.places import smpi
from crosscut.prediction.trace import Trace

# Stack of a simulated actor. The default of 8 MiB would need 16 GiB for 2,048 ranks.
STACK_KIB = 512
_SAID_LINES = 4
_NO_MEMORY = re.compile(
    r"bad_alloc|[Cc]annot allocate memory|out of memory|failed to map segment|[Ff]ailed to allocate"
)

# Short messages travel before their receive is posted, longer ones only once both ends are ready. Otherwise
# the fluid model would let two messages of a pair share their link and delay each other, while TCP sends them
# one after the other. Up to 64 KiB, SimGrid's default, the sender does not wait for the transfer.
PROTOCOL = (
    "smpi/async-small-thresh:1024",
    "smpi/send-is-detached-thresh:65536",
    "smpi/test:0",
)


@dataclass(frozen=True)
class Limits:
    seconds: float = 600
    """Time limit of each replay."""
    memory_bytes: int = 0
    """Address space of the simulator; 0: unlimited."""


NO_LIMITS = Limits()


@dataclass(frozen=True)
class Replayed:
    seconds: float
    """Simulated time until the last rank ends."""
    wall_seconds: float
    ended: tuple[float, ...] = ()
    """Simulated end of each rank in seconds; SMPI does not report it."""


def run(
    trace: Trace, index: Path, platform: smpi.Platform, options: Sequence[str], limits: Limits, network: str
) -> Replayed:
    """Replays with SMPI. `index` comes from `lowering.write`; its folder takes all files.

    Raises CrosscutError.
    """
    folder = index.parent
    for log in (smpi.TIMING, smpi.TROUBLES):
        (folder / log).unlink(missing_ok=True)
    configured = (
        *platform.options, *PROTOCOL, f"contexts/stack-size:{STACK_KIB}", "smpi/display-timing:yes", *options
    )  # fmt: skip
    words = [*smpi.smpirun(trace.ranks, platform, configured, folder), "-replay", str(index)]
    begin = time.perf_counter()
    status, text = ended(words, folder, limits, network)
    if stuck := smpi.stuck_ranks(folder / smpi.TROUBLES):
        few = "; ".join(stuck[:8]) + ("; …" if len(stuck) > 8 else "")
        raise CrosscutError(f"{trace.index}: the replay on {network} deadlocks: {few}")
    seconds = smpi.simulated_seconds(folder / smpi.TIMING)
    if status != 0 or seconds is None:
        raise CrosscutError(why(text, status, limits, trace, network))
    return Replayed(seconds, time.perf_counter() - begin)


def why(text: str, status: int, limits: Limits, trace: Trace, network: str) -> str:
    where = f"{trace.index}: the replay on {network}"
    if limits.memory_bytes and _NO_MEMORY.search(text):
        size = units.about_size(limits.memory_bytes)
        return f"{where} needs more than {size} of memory; give it more with --memory"
    tail = "\n".join(text.strip().splitlines()[-_SAID_LINES:]) or "it wrote nothing"
    return f"{where} failed (status {status}):\n{tail}"


def ended(words: Sequence[str], folder: Path, limits: Limits, network: str) -> tuple[int, str]:
    """Runs a simulator in its own process group, which is always ended. Raises CrosscutError.

    Returns its exit status and output.
    """
    said = folder / "said"
    # prlimit is from util-linux. A preexec_fn is safe only in single-threaded programs.
    bounded = ["prlimit", f"--as={limits.memory_bytes}"] if limits.memory_bytes else []
    # Temporary files go into the same folder, and are removed with it.
    environment = networks.environment() | {"TMPDIR": str(folder)}
    with said.open("wb") as output:
        try:
            process = process_group.start(
                [*bounded, *words], cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                env=environment, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise CrosscutError(f"cannot start {words[0]}: {plainly(error)}; {smpi.INSTALL}") from error
    try:
        return process.wait(limits.seconds), said.read_text(encoding="utf-8", errors="replace")
    except subprocess.TimeoutExpired as error:
        raise CrosscutError(
            f"the replay on {network} was stopped after {units.seconds(limits.seconds)}; "
            "--time-limit allows more"
        ) from error
    finally:
        process_group.end(process)
