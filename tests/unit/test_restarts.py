"""Restarts after lost ranks that end all others: which node is left out, how often, with which messages."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from crosscut.base.errors import RanksLost, UsageError
from crosscut.base.job import Job
from crosscut.places.base import PlaceOptions
from crosscut.places.local import LocalPlace
from crosscut.places.mpi import MpiPlace, without
from crosscut.session.client import JobOutcome
from crosscut.session.measure import Decided
from crosscut.session.restarts import MOST_RESTARTS, measure


@pytest.mark.parametrize(
    ("words", "left"),
    [
        (("-hosts", "n1,n2,n3"), ("-hosts", "n1,n3")),
        (("--host=n1,n2:4,n3",), ("--host=n1,n3",)),
        (("-H", "n1.site,n2.site:2", "-v"), ("-H", "n1.site", "-v")),
        (("-v",), ("-v",)),
    ],
)
def test_lists_of_hosts_lose_the_node(words: tuple[str, ...], left: tuple[str, ...]) -> None:
    assert without(words, ["n2.example"], is_srun=False) == left


def test_files_of_hosts_lose_the_node(tmp_path: Path) -> None:
    file = tmp_path / "hosts"
    file.write_text("# rack 1\nn1:2\nn2 slots=4\nn20\n")
    flag, name = without(("-f", str(file)), ["n2"], is_srun=False)
    assert flag == "-f"
    assert Path(name).read_text() == "# rack 1\nn1:2\nn20\n"


def test_if_the_lost_node_is_unknown_none_is_left_out() -> None:
    for is_srun in (False, True):
        assert without(("-hosts", "n1"), [], is_srun=is_srun) == ("-hosts", "n1")


def test_srun_is_told_to_exclude_it() -> None:
    assert without(("-p", "x"), ["n2", "n2"], is_srun=True) == ("-p", "x", "--exclude=n2")


def test_with_no_node_left_it_ends(tmp_path: Path) -> None:
    file = tmp_path / "hosts"
    file.write_text("n1\n#\n")
    for words in (("-hosts", "n1"), ("-f", str(file)), ("-f", str(tmp_path / "none"))):
        with pytest.raises(UsageError):
            without(words, ["n1"], is_srun=False)


def situation(tmp_path: Path, *, tolerate: bool = True, place: object = None) -> tuple[Job, Decided]:
    out = tmp_path / "run.zarr"
    out.mkdir()
    (out / "zarr.json").write_text("{}")
    options = PlaceOptions(executable=Path("core"), ranks=4, launcher_arguments=("-hosts", "n1,n2"))
    job = Job(pattern="aapc", out=out, options={"tolerate_failures": tolerate})
    return job, Decided(place or MpiPlace(), "mpi", options)  # type: ignore[arg-type]


class Losing:
    """Loses ranks a number of times, then measures."""

    def __init__(
        self, losses: int, text: str = "rank 3 on node n2 was lost: killed", nodes: tuple[str, ...] = ("n2",)
    ) -> None:
        self.left = losses
        self.lost = RanksLost(f"{text}\nwhat was measured is in x", nodes)
        self.seen: list[tuple[Job, Decided]] = []

    def __call__(self, job: Job, decided: Decided) -> tuple[JobOutcome, bool]:
        self.seen.append((job, decided))
        if self.left:
            self.left -= 1
            raise self.lost
        return JobOutcome(job.out, "complete", 1.0), False


def test_a_tolerated_loss_is_resumed_without_the_node(tmp_path: Path) -> None:
    job, decided = situation(tmp_path)
    heard: list[object] = []
    losing = Losing(1)
    outcome, interrupted = measure(job, decided, losing, lambda event: heard.append(event["message"]))
    assert (outcome.state, interrupted) == ("complete", False)
    assert outcome.failures == ("rank 3 on node n2 was lost: killed",)
    assert heard == ["rank 3 on node n2 was lost: killed; starting again without n2"]
    again, elsewhere = losing.seen[1]
    assert again.options["resume"] is True
    assert again.options["force"] is True
    assert elsewhere.options.launcher_arguments == ("-hosts", "n1")
    assert elsewhere.options.secret != decided.options.secret


def test_a_loss_that_the_launcher_does_not_explain_is_resumed_on_all_nodes(tmp_path: Path) -> None:
    job, decided = situation(tmp_path)
    heard: list[object] = []
    losing = Losing(1, "the ranks ended unexpectedly (exit status 255), saying:", ())
    outcome, _ = measure(job, decided, losing, lambda event: heard.append(event["message"]))
    assert outcome.failures == ("the ranks ended unexpectedly (exit status 255)",)
    assert heard == ["the ranks ended unexpectedly (exit status 255); starting again"]
    assert losing.seen[1][1].options.launcher_arguments == ("-hosts", "n1,n2")


def test_losses_that_are_not_tolerated_or_repeat_too_often_end_the_run(tmp_path: Path) -> None:
    job, decided = situation(tmp_path)
    same = replace(decided, options=replace(decided.options, launcher_arguments=()))
    for task, where, tries in (
        (replace(job, options={}), same, 1),
        (job, replace(same, place=LocalPlace()), 1),
        (replace(job, out=tmp_path / "none"), same, 1),
        (job, same, MOST_RESTARTS + 1),
    ):
        losing = Losing(99)
        with pytest.raises(RanksLost):
            measure(task, where, losing, lambda _event: None)
        assert len(losing.seen) == tries
