"""The client of a session, with a core that follows the protocol or not."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from crosscut.base.errors import CrosscutError, Interrupted, SessionError, UsageError
from crosscut.base.job import Event, Job
from crosscut.places.base import Hooks, PlaceOptions, spawn
from crosscut.places.launchers import waiting_for_slurm
from crosscut.places.local import PLACE
from crosscut.session import client
from crosscut.session.client import Session

FAKE = Path(__file__).parent / "fake_core.py"
Open = Callable[..., Session]


@pytest.fixture
def open_fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    sessions: list[Session] = []

    def opened(behaviour: str = "good", listener: Callable[[Event], None] | None = None) -> Session:
        monkeypatch.setenv("CROSSCUT_FAKE", behaviour)
        sessions.append(Session(PLACE.start(PlaceOptions(executable=FAKE, ranks=2)), listener))
        return sessions[-1]

    yield opened
    for session in sessions:
        session.close()


def job(tmp_path: Path) -> Job:
    return Job(pattern="aapc", out=tmp_path / "run.zarr")


def test_a_job_is_followed_to_the_end_of_its_own_run(open_fake: Open, tmp_path: Path) -> None:
    heard: list[str] = []
    session = open_fake(listener=lambda event: heard.append(str(event["event"])))
    assert session.wait_ready()["ranks"] == 2
    outcome = session.run(job(tmp_path))
    # The fake first reports the failure of another run, which must not be taken for this job's end.
    assert (outcome.state, outcome.elapsed_seconds) == ("complete", 1.5)
    assert outcome.warnings == ("a [bold] warning",)
    assert heard == ["ready", "started", "progress", "warning", "finished", "finished"]
    assert session.run(job(tmp_path)).state == "complete"
    assert session.close() == 0


def test_the_input_stays_open_until_the_session_has_ended(open_fake: Open) -> None:
    """MPICH's launcher dies of SIGPIPE if it passes the end of its input on to ranks that have ended."""
    session = open_fake("dies-of-closed-input")
    session.wait_ready()
    assert session.close() == 0


def test_ranks_that_die_are_an_error_with_their_output(open_fake: Open, tmp_path: Path) -> None:
    session = open_fake("crash")
    session.wait_ready()
    with pytest.raises(
        SessionError, match=r"(?s)ended unexpectedly \(exit status 139.*segmentation fault in rank 3"
    ):
        session.run(job(tmp_path))


def test_ranks_that_never_get_ready_are_an_error(open_fake: Open) -> None:
    with pytest.raises(SessionError, match=r"^cannot start the ranks \(exit status "):
        open_fake("silent-end").wait_ready()


@pytest.mark.parametrize(
    ("behaviour", "shown"), [("garbage", "hello, world"), ("no-event", "JSON that is not an event")]
)
def test_a_line_that_is_not_an_event_is_shown(
    open_fake: Open, tmp_path: Path, behaviour: str, shown: str
) -> None:
    session = open_fake(behaviour)
    session.wait_ready()
    with pytest.raises(SessionError, match=shown):
        session.run(job(tmp_path))


def test_a_launcher_s_message_about_a_killed_process_comes_with_the_lost_rank(
    open_fake: Open, tmp_path: Path
) -> None:
    session = open_fake("launcher")
    session.wait_ready()
    with pytest.raises(
        SessionError, match=r"(?s)rank 1 on n001 was lost.*PID 77 RUNNING.*Killed \(signal 9\)"
    ):
        session.run(job(tmp_path))


def test_ranks_that_take_too_long_to_start_are_ended_and_their_output_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CROSSCUT_FAKE", "never-ready")
    with Session(spawn([FAKE, "node"], {"ranks": 4}, Hooks(start_seconds=1.0))) as session:
        with pytest.raises(
            SessionError, match=r"(?s)not ready within 1 s; .*may have died\. Their last output:.*rank 3 died"
        ):
            session.wait_ready()
        assert not session.alive


def test_ranks_that_stay_silent_at_the_start_may_be_waiting_which_is_noted_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CROSSCUT_FAKE", "never-ready")
    monkeypatch.setattr(client, "_SILENT_SECONDS", 0.1)
    heard: list[Event] = []
    hooks = Hooks(start_seconds=1.0, waiting=waiting_for_slurm(4))
    with (
        Session(spawn([FAKE, "node"], {"ranks": 4}, hooks), heard.append) as session,
        pytest.raises(SessionError, match="not ready within 1 s"),
    ):
        session.wait_ready()
    assert heard == [
        {"event": "note", "message": "waiting for Slurm to start 4 tasks; squeue --me shows why"}
    ]


def test_a_launcher_s_message_is_attributed_to_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CROSSCUT_FAKE", "banner")
    with Session(spawn([FAKE, "node"], {"ranks": 2}, Hooks(launcher="mpiexec"))) as session:
        said = _failure_of(session, tmp_path)
    assert said.splitlines()[0] == "mpiexec ended (exit status 9), saying:"
    assert "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)" in said
    assert "not an event" not in said


def test_the_place_s_explanation_comes_with_failures_but_not_with_wrong_usage(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    said = {}
    for behaviour in ("silent-end", "crash", "refuse"):
        monkeypatch.setenv("CROSSCUT_FAKE", behaviour)
        launched = spawn([FAKE, "node"], {"ranks": 2}, Hooks(remark=lambda: "planted: f1"))
        with Session(launched) as session:
            assert session.remark() == "planted: f1"
            said[behaviour] = _failure_of(session, tmp_path).splitlines()
    assert said["silent-end"][-1] == said["crash"][-1] == "  planted: f1"
    assert "planted" not in "".join(said["refuse"])


def _failure_of(session: Session, tmp_path: Path) -> str:
    try:
        session.wait_ready()
        session.run(job(tmp_path))
    except CrosscutError as error:
        return str(error)
    raise AssertionError("nothing failed")


def test_a_refused_job_is_wrong_usage_and_the_session_goes_on(open_fake: Open, tmp_path: Path) -> None:
    session = open_fake("refuse")
    session.wait_ready()
    for _ in range(2):
        with pytest.raises(UsageError, match="even number"):
            session.run(job(tmp_path))
    assert session.alive


def test_a_wrong_byte_names_its_route(open_fake: Open, tmp_path: Path) -> None:
    session = open_fake("wrong-byte")
    session.wait_ready()
    (failure,) = session.run(job(tmp_path)).failures
    assert "3 -> 5" in failure
    assert "offset 4" in failure


def signal_at_progress(monkeypatch_number: int) -> Callable[[Event], None]:
    """Returns a listener that signals this process when it first hears that the job waits for a stop."""

    def listener(event: Event) -> None:
        if event["event"] == "progress" and event.get("phase") == 3:
            threading.Thread(target=os.kill, args=(os.getpid(), monkeypatch_number)).start()

    return listener


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_job_in_order(open_fake: Open, tmp_path: Path, number: int) -> None:
    session = open_fake("wait-for-stop", signal_at_progress(number))
    before = signal.getsignal(number)
    with session.interruptible():
        session.wait_ready()
        outcome = session.run(job(tmp_path))
    assert outcome.state == "stopped"
    assert session.interrupted
    assert signal.getsignal(number) is before


def wait_long(session: Session) -> None:
    """Waits for a second `ready`, which never comes: the signal may arrive before or after the first."""
    for _ in range(2):
        session.wait_ready()


def test_a_signal_before_anything_is_measured_ends_at_once(open_fake: Open) -> None:
    session = open_fake()
    with session.interruptible():
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(Interrupted):
            wait_long(session)


def test_closing_twice_is_harmless(open_fake: Open) -> None:
    session = open_fake()
    session.wait_ready()
    assert session.close() == 0
    assert session.close() == 0
    assert not session.alive


def test_ranks_that_die_with_their_place_are_explained_by_the_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CROSSCUT_FAKE", "crash")
    gone = [""]
    launched = spawn(
        [FAKE, "node"], {"ranks": 2}, Hooks(gone=lambda: gone[0], remark=lambda: "a fault is planted")
    )
    with Session(launched) as session:
        session.wait_ready()
        gone[0] = "lab x was taken down"
        with pytest.raises(SessionError) as ended:
            session.run(job(tmp_path))
    assert str(ended.value) == "lab x was taken down"


def test_a_place_that_ends_because_its_ranks_died_is_not_the_cause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lab built for one run is taken down when its ranks have ended."""
    monkeypatch.setenv("CROSSCUT_FAKE", "crash")
    gone: list[str] = []
    hooks = Hooks(release=lambda: gone.append("lab x was taken down"), gone=lambda: "".join(gone))
    with Session(spawn([FAKE, "node"], {"ranks": 2}, hooks)) as session:
        assert "segmentation fault in rank 3" in _failure_of(session, tmp_path)
    assert gone
