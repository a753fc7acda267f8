"""Everything that `crosscut list` names measures whole, consistent runs that all commands can read.

Combinations that a pattern refuses (three ranks for a pattern of pairs of pairs) must fail as wrong usage and
leave nothing behind. CROSSCUT_TEST_SEED draws other values.
"""

from __future__ import annotations

import csv
import io
import json
import os
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from measuring import RANKS, Sessions, check_whole, drawn, small, usable

from crosscut.base import core
from crosscut.base.errors import UsageError
from crosscut.base.job import Job
from crosscut.cli import main
from crosscut.run.format import MEASURED
from crosscut.run.run import Run

if core.find_executable(core.CORE) is None:
    pytest.skip("crosscut-core is not built", allow_module_level=True)

LISTED = core.load()
BACKENDS = {backend.name: backend for backend in LISTED.backends if not backend.unavailable}
PATTERNS = {pattern.name: pattern for pattern in LISTED.patterns}
SEED = int(os.environ.get("CROSSCUT_TEST_SEED", "1"))

# Every pattern on the backend that moves nothing, one pattern on every backend; the others in the long tier.
EVERYWHERE = "aapc"
every_pattern = pytest.mark.parametrize(
    ("backend", "pattern"),
    [
        pytest.param(
            backend,
            pattern,
            id=f"{backend}-{name}",
            marks=() if backend == "null" or name == EVERYWHERE else pytest.mark.long,
        )
        for backend in BACKENDS
        for name, pattern in PATTERNS.items()
    ],
    indirect=["backend"],
)


@pytest.fixture(scope="module")
def sessions() -> Iterator[Sessions]:
    opened = Sessions()
    yield opened
    assert set(opened.close()) <= {0, 2}  # 2: a pattern refused its ranks


@pytest.fixture
def backend(request: pytest.FixtureRequest) -> core.Backend:
    if not usable(request.param):
        pytest.skip(f"ranks of the backend {request.param} cannot be started here: crosscut doctor")
    return BACKENDS[request.param]


@pytest.fixture
def chance(request: pytest.FixtureRequest) -> random.Random:
    """Draws the same values for the same test and seed."""
    print(f"CROSSCUT_TEST_SEED={SEED}")
    return random.Random(f"{SEED} {request.node.name}")


def measured(sessions: Sessions, job: Job, ranks: int) -> bool:
    """Returns True if the job was measured, False if it was refused properly. The session continues."""
    try:
        outcome = sessions.measure(job, ranks)
    except UsageError as error:
        refusal = str(error)
    else:
        refusal = ""
    if refusal:
        assert refusal.startswith(f"pattern {job.pattern}")
        assert not job.out.exists()
        return False
    assert outcome.state == "complete"
    assert outcome.failures == ()
    return True


def measured_sizes(sessions: Sessions, job: Job, ranks: int, *sizes: int) -> tuple[int, ...]:
    """Measures the sizes in one run; only the largest if the pattern divides each size differently."""
    if measured(sessions, replace(job, sizes=sizes), ranks):
        return sizes
    assert measured(sessions, replace(job, sizes=sizes[-1:]), ranks)
    return sizes[-1:]


def job_of(pattern: core.Pattern, backend: core.Backend, out: Path, **options: object) -> Job:
    return Job(
        pattern=pattern.name,
        out=out,
        pattern_parameters=small(pattern),
        backend=backend.name,
        sizes=(3000,),
        options={"repetitions": 2, "warm_up": 0, "iterations": 1} | options,
    )


@every_pattern
def test_every_number_of_ranks_gives_a_whole_run(
    sessions: Sessions, backend: core.Backend, pattern: core.Pattern, quick_path: Path
) -> None:
    whole = 0
    for ranks in RANKS:
        job = job_of(pattern, backend, quick_path / f"{ranks}.zarr", repetitions=3)
        if measured(sessions, job, ranks):
            run = check_whole(job.out, backend.lossy)
            assert run.ranks == ranks
            assert (run.dataset["repetitions_done"].values == 3).all()
            whole += 1
    assert whole >= 2, "refused nearly everywhere"


@every_pattern
def test_parameters_from_the_list_are_measured_or_refused(
    sessions: Sessions, backend: core.Backend, pattern: core.Pattern, quick_path: Path, chance: random.Random
) -> None:
    for attempt in range(3 if pattern.parameters else 1):
        ranks, size = chance.choice(RANKS[1:]), chance.choice((1, 7, 4096, 60_001))
        job = job_of(pattern, backend, quick_path / f"{attempt}.zarr")
        job = replace(job, pattern_parameters=drawn(pattern, chance), sizes=(size,))
        print(job, ranks)
        if measured(sessions, job, ranks):
            assert check_whole(job.out, backend.lossy).sizes_bytes == (size,)


@every_pattern
def test_measuring_options_work_with_every_pattern_and_backend(
    sessions: Sessions, backend: core.Backend, pattern: core.Pattern, quick_path: Path, chance: random.Random
) -> None:
    """Two sizes, streaming, adaptive repetitions, computing during messages, some of the phases."""
    ranks = chance.choice((4, 5))
    options = {"sync": "none", "iterations": 0, "warm_up": 1}
    if backend.name == "sim":  # refuses what it does not compute
        for refused in ({"sync": "none"}, {"compute": True}, {"iterations": 2}, {"wait": "poll"}):
            with pytest.raises(UsageError, match="leave out --"):
                sessions.measure(job_of(pattern, backend, quick_path / "refused.zarr", **refused), ranks)
        options |= {"sync": "barrier"}
    several = job_of(pattern, backend, quick_path / "several.zarr", **options)
    sizes = measured_sizes(sessions, several, ranks, 1, 5000)
    run = check_whole(several.out, backend.lossy)
    assert run.sizes_bytes == sizes
    assert (run.attributes["cadence"] == "streaming") == (options["sync"] == "none")

    adaptive = job_of(
        pattern, backend, quick_path / "adaptive.zarr", repetitions=9, minimum_repetitions=6, interval=0.2
    )
    assert measured(sessions, adaptive, ranks)
    done = check_whole(adaptive.out, backend.lossy).dataset["repetitions_done"].values
    assert ((done >= 6) & (done <= 9)).all()

    compute = backend.name != "sim"
    beside = job_of(pattern, backend, quick_path / "beside.zarr", compute=compute)
    last = int(run.dataset.sizes["phase"])
    first = chance.randint(1, last)
    assert measured(sessions, replace(beside, phases=(first, last), sizes=sizes[-1:]), ranks)
    part = check_whole(beside.out, backend.lossy).dataset
    np.testing.assert_array_equal(part["phase"].values, np.arange(first, last + 1))
    np.testing.assert_array_equal(part["peer"].values, run.dataset["peer"].values[first - 1 :])
    if not compute:
        return
    fractions = part["compute_fraction"].values
    assert np.isfinite(fractions[np.isfinite(part["rank_seconds"].values)]).all()
    assert (np.nan_to_num(fractions) >= 0).all()


@every_pattern
def test_verifying_finds_no_wrong_byte(
    sessions: Sessions, backend: core.Backend, pattern: core.Pattern, quick_path: Path, chance: random.Random
) -> None:
    job = job_of(pattern, backend, quick_path / "verified.zarr", verify=True)
    if not backend.live:
        with pytest.raises(UsageError, match="moves no bytes"):
            sessions.measure(job, 4)
        return
    measured_sizes(sessions, job, chance.choice((4, 5)), 1, 4097)
    assert check_whole(job.out, backend.lossy).attributes["verify"] == {"wrong_messages": 0}


@every_pattern
def test_windows_give_a_whole_run_and_no_wrong_byte(
    sessions: Sessions, backend: core.Backend, pattern: core.Pattern, quick_path: Path, chance: random.Random
) -> None:
    """The figures are those of one message, so what was measured is described as without a window."""
    ranks, window = chance.choice(RANKS[2:]), chance.choice((2, 3, 17))
    runs = []
    for messages in (1, window):
        job = job_of(pattern, backend, quick_path / f"{messages}.zarr", window=messages, verify=backend.live)
        measured_sizes(sessions, job, ranks, 1, 4097)
        runs.append(check_whole(job.out, backend.lossy))
    alone, many = runs
    assert many.attributes["window"] == window
    if backend.live:
        assert many.attributes["verify"] == {"wrong_messages": 0}
    for name in ("peer", "bytes", "credited_bytes"):
        assert (name in alone.dataset) == (name in many.dataset)
        if name in alone.dataset:
            np.testing.assert_array_equal(alone.dataset[name].values, many.dataset[name].values)


@every_pattern
def test_the_command_line_measures_shows_and_exports_it(
    backend: core.Backend,
    pattern: core.Pattern,
    quick_path: Path,
    chance: random.Random,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Standard output is one JSON object, or the table; the export equals the measurement."""
    run = quick_path / "run.zarr"
    words = ["run", pattern.name, "-n", str(chance.choice((4, 5))), "--backend", backend.name, "--json"]
    words += ["--size", "2KB", "--repetitions", "2", "--iterations", "1", "--out", str(run)]
    for name, value in small(pattern).items():
        words += [f"--{name}", value]
    assert main(words) == 0
    answer = json.loads(capfd.readouterr().out)
    assert answer["state"] == "complete"
    assert answer["out"] == str(run)

    assert main(["show", str(run)]) == 0
    shown = capfd.readouterr().out
    assert pattern.name in shown
    assert backend.name in shown
    assert main(["show", str(run), "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["sizes"] == answer["sizes"]
    assert main(["fsck", str(run), "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["problems"] == []

    assert main(["export", str(run)]) == 0
    rows = list(csv.DictReader(io.StringIO(capfd.readouterr().out)))
    data = Run.open(run).dataset.load()
    samples = ((data["status"] == MEASURED) & (data["peer"] >= 0)).values
    assert len(rows) == samples.sum()
    assert main(["export", str(run), "--format", "json", "--table", "ranks"]) == 0
    exported = json.loads(capfd.readouterr().out)
    assert len(exported) == (data["status"] == MEASURED).values.sum()
