"""`crosscut run … --on slurm --batch`: the same command, as a batch job."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from crosscut.base.errors import EXIT_OK, UsageError
from crosscut.places.slurm_batch import batch_script, submit
from crosscut.session.measure import Decided

FLAG = "--batch"
_WORDS_FOR_SBATCH = "--launcher-args"


def submit_run(decided: Decided, words: Sequence[str]) -> int:
    """Submits the run and prints where its output will be; `words` is the command line as typed."""
    if not decided.place.takes_batch_jobs:
        raise UsageError(f"{FLAG} works with --on slurm only, not with --on {decided.on}")
    script = batch_script(batch_command(words), decided.options.ranks, decided.options.launcher_arguments)
    job = submit(script)
    print(f"submitted as job {job}; its output goes to crosscut-{job}.log in this folder")
    return EXIT_OK


def batch_command(words: Sequence[str]) -> list[str]:
    """Returns the command to run inside the job, without sbatch's options: the script's header has those."""
    command = [str(_program())]
    rest = iter(words[1:])
    for word in rest:
        if word == _WORDS_FOR_SBATCH:
            next(rest, None)
        elif word != FLAG and not word.startswith(f"{_WORDS_FOR_SBATCH}="):
            command.append(word)
    return command


def _program() -> Path:
    """Returns the full path of crosscut: a batch job may have a different PATH."""
    found = shutil.which(sys.argv[0]) or shutil.which("crosscut")
    if found is None:
        raise UsageError(f"{FLAG}: cannot find the program crosscut; is its folder on PATH?")
    return Path(found).absolute()
