"""Writes a Slurm batch script that runs crosscut within its allocation, and submits it."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Sequence

from crosscut.base.errors import PlaceError, UsageError
from crosscut.places.slurm import layout_outside, nodes_asked

SBATCH_SECONDS = 60


def batch_script(command: Sequence[str], ranks: int, words: Sequence[str] = ()) -> str:
    """Returns the script. `command`: crosscut's own, with `--on slurm`; `words`: options for sbatch."""
    layout = layout_outside(ranks, words)
    options = ["--job-name=crosscut", "--output=crosscut-%j.log", f"--ntasks-per-node={max(layout)}"]
    if nodes_asked(words) is None:
        options.append(f"--nodes={len(layout)}")
    options += joined_options(words)
    for word in (*options, *command):
        if "\n" in word or "\r" in word:
            raise UsageError(f"a line break in {word!r} cannot go into a batch script")
    lines = ["#!/bin/sh", *(f"#SBATCH {option}" for option in options)]
    return "\n".join([*lines, f"exec {shlex.join(command)}", ""])


def joined_options(words: Sequence[str]) -> list[str]:
    """Returns one option per item: `-p debug` is two words and one option."""
    options: list[str] = []
    for word in words:
        if word.startswith("-") or not options:
            options.append(shlex.quote(word))
        else:
            options[-1] += f" {shlex.quote(word)}"
    return options


def submit(script: str) -> str:
    """Submits the script to sbatch; returns the job's number. Raises PlaceError with what sbatch said."""
    try:
        done = subprocess.run(
            ["sbatch", "--parsable"],
            input=script,
            capture_output=True,
            text=True,
            check=False,
            timeout=SBATCH_SECONDS,
        )
    except FileNotFoundError as error:
        raise PlaceError(
            "there is no sbatch here; is this a Slurm cluster, and is its module loaded?"
        ) from error
    except subprocess.TimeoutExpired as error:
        raise PlaceError(f"sbatch has not answered within {SBATCH_SECONDS} s; is slurmctld up?") from error
    if done.returncode != 0:
        raise PlaceError(f"sbatch refused the job: {done.stderr.strip() or f'exit status {done.returncode}'}")
    return done.stdout.strip().partition(";")[0]
