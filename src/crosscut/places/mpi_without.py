"""The words of an MPI launcher, so that it leaves out nodes that lost a rank."""

from __future__ import annotations

import atexit
import os
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from crosscut.base.errors import UsageError

# `-hosts a,b:2` (MPICH), `--host a,b` and `-H a,b` (Open MPI).
_LISTS = re.compile(r"(--?hosts?|-H)")
_FILES = re.compile(r"(-f|--?hostfile|--?machinefile|--?machine)")


def without(words: Sequence[str], nodes: Sequence[str], is_srun: bool) -> tuple[str, ...]:
    """The launcher's words without these nodes; UsageError where none would be left.

    As they were where they name no hosts: then all ranks are on one machine, which is all there is.
    """
    if not nodes:  # the launcher ended without a word about whom it lost
        return tuple(words)
    lost = {_short(node) for node in nodes}
    if is_srun:
        return (*words, f"--exclude={','.join(sorted(set(nodes)))}")
    found: list[str] = []
    rest = iter(words)
    for word in rest:
        flag, equals, value = word.partition("=")
        if not (_LISTS.fullmatch(flag) or _FILES.fullmatch(flag)):
            found.append(word)
            continue
        value = value if equals else next(rest, "")
        kept = _kept_list(value, lost) if _LISTS.fullmatch(flag) else _kept_file(value, lost)
        found += [f"{flag}={kept}"] if equals else [flag, kept]
    return tuple(found)


def _short(host: str) -> str:
    """A node calls itself by its first name or by all of it."""
    return re.split(r"[.:\s]", host.strip(), maxsplit=1)[0]


def _kept_list(value: str, lost: set[str]) -> str:
    kept = [host for host in value.split(",") if _short(host) not in lost]
    if not kept:
        raise UsageError(f"without {', '.join(sorted(lost))} no host is left of {value}")
    return ",".join(kept)


def _kept_file(value: str, lost: set[str]) -> str:
    """A host file without them, gone when this program ends."""
    try:
        lines = Path(value).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{value}: the host file cannot be read") from error
    kept = [line for line in lines if _short(line) not in lost]
    if not any(line.split("#")[0].strip() for line in kept):
        raise UsageError(f"without {', '.join(sorted(lost))} no host is left in {value}")
    descriptor, name = tempfile.mkstemp(prefix="crosscut-hosts-")
    atexit.register(Path(name).unlink, missing_ok=True)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write("\n".join(kept) + "\n")
    return name
