"""`make demo`: four patterns over TCP and over MPI on this machine, one on a simulated network, and one on an
emulated cluster with a fault, which the report finds.

Run it with `python -m crosscut.campaigns.demo [DIRECTORY]`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from crosscut.analysis.figures import summary
from crosscut.analysis.figures.cautions import CautionKind
from crosscut.analysis.figures.samples import load
from crosscut.analysis.findings import of_run
from crosscut.base import core, units
from crosscut.base.errors import EXIT_FAILED, EXIT_OK, CrosscutError, Interrupted, UsageError
from crosscut.base.spelling import as_typed
from crosscut.campaigns.campaign import CampaignStep, StepResult, measure_steps
from crosscut.lab import lifecycle
from crosscut.lab.faults import plant
from crosscut.lab.faults.fault import Fault
from crosscut.reports.html.write import write
from crosscut.reports.terminal import dense, findings
from crosscut.reports.terminal import run as terminal
from crosscut.reports.terminal.screen import Screen, screen_for
from crosscut.reports.view import View
from crosscut.reports.words import about
from crosscut.reports.words.check_cautions import planted
from crosscut.reports.words.sentences import figures_of
from crosscut.run.run import Run
from crosscut.session.measure import Launch, decide, ready_session
from crosscut.session.progress import reporter

RANKS = 8
# With 8 ranks on 2 cores a polling MPI takes many times as long as TCP. The limit keeps the whole
# demonstration within three minutes on any machine; the output says what it cut off.
STEP_LIMIT_SECONDS = 15.0
OPTIONS: dict[str, object] = {"repetitions": 20, "time_limit_seconds": STEP_LIMIT_SECONDS}

STEPS = (
    CampaignStep("pingpong", "pingpong", sizes=(1, 100, 1_000, 10_000, 100_000, 1_000_000), options=OPTIONS),
    CampaignStep("aapc", "aapc", sizes=(1_000, 100_000, 1_000_000), options=OPTIONS),
    CampaignStep("cumulative-pairwise", "cumulative-pairwise", sizes=(1_000_000,), options=OPTIONS),
    CampaignStep("chain", "chain", sizes=(10_000_000,), options=OPTIONS),
)


# The Enterasys E7. Kurmann, Rauch and Stricker (ETH TR 391, 2003) found the limits between its modules with
# an all-to-all, whose rate falls at middle distances (their figures 2 and 10).
SIMULATED, SIMULATED_RANKS = "xibalba-e7-config1", 64
SIMULATED_STEPS = (CampaignStep("aapc", "aapc", sizes=(40_000_000,)),)


# A network with an internal limit, and a planted fault that crosscut must find by measuring.
EMULATED, FAULT = "two-leaves-16", Fault("slow", ("n0005",), share=0.4, direction="in")
LAB_STEPS = (
    CampaignStep("aapc", "aapc", sizes=(1_000_000,), options={"repetitions": 5, "time_limit_seconds": 40.0}),
)

REPORT, ALL_RUNS = "report.html", "all-runs.html"


@dataclass(frozen=True)
class Block:
    """The measurements of one session."""

    title: str
    launch: Launch
    steps: tuple[CampaignStep, ...]
    folder: str


BLOCKS = (
    Block(f"Over tcp, {RANKS} ranks on this machine", Launch(backend="tcp", ranks=RANKS), STEPS, "tcp"),
    Block(f"Over mpi, {RANKS} ranks on this machine", Launch(backend="mpi", ranks=RANKS), STEPS, "mpi"),
    Block(
        f"Simulated: {SIMULATED_RANKS} nodes of the network {SIMULATED}",
        Launch(on=f"sim:{SIMULATED}", ranks=SIMULATED_RANKS), SIMULATED_STEPS, "sim",
    ),
)  # fmt: skip


def _measure(known: core.Core, block: Block, directory: Path, screen: Screen) -> list[StepResult]:
    """Measures all steps of a block; for an unavailable backend, shows the reason instead."""
    screen.title(block.title)
    try:
        decided = decide(known, block.launch)
    except UsageError as error:
        screen.line(f"left out: {error}", "yellow")
        return []
    folder = directory / block.folder
    folder.mkdir(parents=True)
    results: list[StepResult] = []
    with reporter(quiet=False) as listener, ready_session(decided, listener) as session:
        words = ["python", "-m", "crosscut.campaigns.demo"]
        results += measure_steps(session, block.steps, folder, decided, listener=listener, words=words)
    for result in results:
        screen.line(result.step.name, "bold cyan")
        lines = figures_of(View.open(result.out)) if result.measured else [result.reason]
        for line in lines + ([f"({result.state})"] if result.state != "complete" else []):
            screen.line(f"  {line}")
    _caution(screen, results)
    return results


def _by_distance(screen: Screen, result: StepResult) -> None:
    """Shows the rate over the communication distance."""
    view = View.open(result.out)
    samples = load(view.dataset, 0)
    screen.title(f"{view.pattern} of {SIMULATED_RANKS} nodes, simulated on {SIMULATED}")
    dense.phases(screen, samples, summary.phase_rates(samples))
    screen.line(
        "in phase s each rank sends to rank + s; 8 links saturate the connection between two modules, so "
        "rates fall at middle distances",
        "dim",
    )


def _caution(screen: Screen, results: Sequence[StepResult]) -> None:
    """Warns about oversubscription. Each block has its own warning, as a reader may see only one block."""
    texts = [
        caution.text
        for result in results
        if result.measured
        for caution in about.beware(View.open(result.out), [])
        if caution.kind is CautionKind.OVERSUBSCRIBED
    ]
    for text in dict.fromkeys(texts):
        screen.warn(text)


@contextmanager
def _faulty_lab() -> Iterator[str]:
    """Builds a lab with the fault and yields its name. Raises CrosscutError if none can be built."""
    record = lifecycle.up(EMULATED, lifecycle.for_one_run(EMULATED))
    try:
        plant.plant(record.name, FAULT)
        yield record.name
    finally:
        lifecycle.taking_down(record)()


def _emulated(known: core.Core, directory: Path, screen: Screen) -> list[StepResult]:
    """Measures on a cluster of namespaces, if this machine can build one."""
    title = f"Emulated: 16 nodes of the network {EMULATED}, with a fault"
    try:
        with _faulty_lab() as name:
            launch = Launch(on=f"lab:{name}")
            results = _measure(known, Block(title, launch, LAB_STEPS, "lab"), directory, screen)
    except Interrupted:
        raise
    except CrosscutError as error:
        screen.title(title)
        screen.line(f"left out: {error}", "yellow")
        return []
    for result in results:
        if result.measured:
            measured = Run.open(result.out)
            screen.line(f"planted: {'; '.join(planted([measured]))}", "dim")
            findings.render(screen, *of_run.look(measured))
    return results


def _reports(screen: Screen, measured: Sequence[Path], emulated: Sequence[Path], directory: Path) -> None:
    """Writes a report on all runs, and one on the emulated cluster, which must begin by naming the fault."""
    if not measured:
        return
    screen.title("Reports (each is one file, which any browser opens offline)")
    for runs, name in [(measured, ALL_RUNS)] * bool(emulated) + [(emulated or measured, REPORT)]:
        write(runs, directory / name, overwrite=True)
        screen.line((directory / name).absolute().as_uri())


def _program() -> str:
    """The command to type for crosscut: a path, because its folder is on PATH only inside make."""
    beside = Path(sys.executable).parent / "crosscut"  # not resolved: an environment's Python is a link
    return as_typed(beside) if beside.is_file() else "crosscut"


def run(directory: Path, screen: Screen) -> int:
    """Measures, shows the results, and lists the runs; returns the exit status."""
    known = core.load()
    results: dict[str, list[StepResult]] = {}
    failed = False
    for block in BLOCKS:
        measured_so = results.setdefault(block.folder, [])
        try:
            measured_so.extend(_measure(known, block, directory, screen))
        except Interrupted:
            raise
        except CrosscutError as error:  # the other backend's figures are still worth showing
            screen.line(f"failed: {error}", "red")
            failed = True
    results["lab"] = _emulated(known, directory, screen)
    measured = [result for found in results.values() for result in found if result.measured]
    for result in results["sim"]:
        _by_distance(screen, result)
    shown = next((result.out for result in measured if result.step.name == "aapc"), None)
    if shown is not None:
        screen.console.rule(style="dim")
        terminal.render(screen, View.open(shown))
    screen.title("Runs")
    for result in measured:
        screen.command(f"{_program()} show {result.out}")
    emulated = [result.out for result in results["lab"] if result.measured]
    _reports(screen, [result.out for result in measured], emulated, directory)
    failed |= not results["tcp"] or any(result.state not in ("complete", "stopped") for result in measured)
    return EXIT_FAILED if failed or not results["sim"] else EXIT_OK


def main(words: Sequence[str]) -> int:
    start = time.monotonic()
    # A new folder each time, so that no measurement is overwritten; git ignores it.
    directory = Path(words[0]) if words else Path("demo") / time.strftime("%Y%m%d-%H%M%S")
    screen = screen_for()
    try:
        status = run(directory, screen)
    except CrosscutError as error:
        print(f"crosscut demo: {error}", file=sys.stderr)
        return error.exit_code
    screen.line(f"took {units.duration(time.monotonic() - start)}", "dim")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
