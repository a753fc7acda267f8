"""A lab's folder survives crashes, wrong edits and changes of version."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from crosscut.base.errors import CrosscutError, UsageError
from crosscut.cli import lab as command
from crosscut.cli import main
from crosscut.lab import describe, enter, lifecycle, removal, state
from crosscut.lab.faults import catalogue, plant
from crosscut.lab.faults.fault import Fault
from crosscut.lab.kernel import bulk
from crosscut.lab.lifecycle import is_gone, name_of

RECORD = state.Record(name="x", network="four.toml", condition="up", owner=state.Process(1, 2))


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv(state.VARIABLE, str(tmp_path / "labs"))
    (tmp_path / "labs" / "x").mkdir(parents=True)
    return tmp_path / "labs"


def test_a_record_is_read_as_it_was_written() -> None:
    record = replace(RECORD, unlike=("so",), faults=({"id": "f1", "kind": "slow", "nodes": ["n1"]},))
    state.write(record)
    assert state.read("x") == record


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "{}", '{"version": 99}', '{"version": 1, "name": 3}', "\x00",
     '{"version": 1, "name": "x", "network": "n", "owner": {"pid": -1, "start_ticks": 1}}',
     '{"version": 1, "name": "x", "network": "n", "faults": [{"worker": {"pid": true, "start_ticks": 1}}]}'],
)  # fmt: skip
def test_a_broken_record_is_an_error_that_says_what_to_do(root: Path, text: str) -> None:
    (root / "x" / "lab.json").write_text(text)
    with pytest.raises(CrosscutError, match="crosscut lab down x"):
        state.read("x")


def test_a_lab_of_another_version_is_not_built_over(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be up and in use by a run."""
    (root / "x" / "lab.json").write_text('{"version": 2, "name": "x", "condition": "up"}')
    monkeypatch.setattr(lifecycle, "unavailable", lambda: None)
    monkeypatch.setattr(removal, "clear", lambda *_: pytest.fail("its processes would have been ended"))
    with pytest.raises(CrosscutError, match="another version of crosscut; crosscut lab down x"):
        lifecycle.up("bode-sci-2", lifecycle.Choices(name="x"))
    assert (root / "x" / "lab.json").exists()


@pytest.mark.parametrize("name", ["", "..", "a/b", "-x", "x" * 65, "a b", "ä"])
def test_a_name_cannot_lead_out_of_the_folder(name: str) -> None:
    with pytest.raises(UsageError, match="is not a valid lab name"):
        state.folder(name)


def test_an_unknown_lab_is_named_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="there is no lab y; known: x"):
        state.read("y")


def test_a_lab_is_selected_by_its_name_or_its_network(root: Path) -> None:
    state.write(RECORD)
    assert name_of("x") == "x"
    assert name_of("four.toml") == ""
    (root / "four").mkdir()
    state.write(replace(RECORD, name="four"))
    assert name_of("four.toml") == "four"
    assert name_of("other/four.toml") == ""


def test_a_process_is_not_taken_for_a_later_one_of_its_number() -> None:
    assert state.this_process().alive()
    assert not state.Process(os.getpid(), 1).alive()
    assert not state.Process(2**22 + 1, 1).alive()  # above Linux's largest process id


def test_a_lock_keeps_others_away() -> None:
    with state.locked("x"), pytest.raises(CrosscutError, match="being changed"), state.locked("x"):
        pass


def test_clearing_removes_files_and_follows_no_link(root: Path, tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").touch()
    (root / "x" / "link").symlink_to(tmp_path / "precious")
    (root / "x" / "shm").mkdir()
    (root / "x" / "shm" / "link").symlink_to(tmp_path / "precious")
    removal.remove(root / "x", None)
    assert not (root / "x").exists()
    assert (tmp_path / "precious" / "file").exists()


def test_a_fault_is_read_as_it_was_recorded() -> None:
    for kind in catalogue.KINDS:
        fault = Fault(kind.name, ("n1", "n2")[: kind.nodes])
        assert catalogue.from_json(json.loads(json.dumps(catalogue.as_json(fault)))) == fault


def test_a_recorded_fault_has_only_its_own_members() -> None:
    assert catalogue.as_json(Fault("slow", ("n1",), share=0.25, direction="in")) == {
        "kind": "slow", "nodes": ["n1"], "share": 0.25, "direction": "in",
        "says": "the cable of n1 carries 25 % of its rate, towards it",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("adapter", "recorded", "said"),
    [(None, {}, "n1 or"), (0, {"adapter": 0}, "n1 (eth0) or"), (1, {"adapter": 1}, "n1 (eth1) or")],
)
def test_dead_is_a_node_or_one_adapter_of_it(
    adapter: int | None, recorded: dict[str, int], said: str
) -> None:
    fault = Fault("dead", ("n1",), adapter=adapter)
    says = f"nothing gets to {said} away from it"
    assert catalogue.as_json(fault) == {"kind": "dead", "nodes": ["n1"], **recorded, "says": says}
    assert catalogue.from_json(catalogue.as_json(fault)) == fault


def test_exchanged_cables_are_recorded_with_their_adapter() -> None:
    """Otherwise lifting would exchange another pair."""
    fault = Fault("swap", ("n1", "n2"), adapter=1)
    assert catalogue.from_json(catalogue.as_json(fault)) == fault
    assert catalogue.kind_of("swap").says(fault) == "the cables of n1 (eth1) and n2 (eth1) are exchanged"


@pytest.mark.parametrize(
    ("kind", "member", "typed"), [("dead", "share", "--to"), ("compute", "adapter", "--adapter")]
)
def test_an_option_of_another_kind_is_refused(kind: str, member: str, typed: str) -> None:
    with pytest.raises(UsageError, match=f"{kind} has no {typed}, which is for slow"):
        catalogue.check_options(kind, {member: typed})


def test_a_second_fault_of_a_node_names_the_first() -> None:
    record = replace(RECORD, faults=({"id": "f1", **catalogue.as_json(Fault("slow", ("n1",)))},))
    with pytest.raises(UsageError, match=r"n1 has a fault already \(f1: the cable of n1 carries 10 % of its"):
        plant.refuse_overlap(record, Fault("dead", ("n1",)))


def test_arguments_reach_a_node_separately(root: Path) -> None:
    words = enter.command(RECORD, root / "x", "n1", ["printf", "%s", "a  b; $HOME"])
    assert words[0] == "nsenter"
    assert words[-3:] == ["printf", "%s", "a  b; $HOME"]
    held = enter.command(replace(RECORD, holder=state.Process(77, 1)), root / "x", "n1", ["true"])
    assert held[held.index("--target") + 1] == "77"


def test_messages_to_the_kernel_have_correct_lengths() -> None:
    """rtnetlink(7): attributes are padded to four bytes, their lengths are not."""
    _, body = bulk.forwarding(5, "02:63:00:00:00:01")
    length, kind = struct.unpack_from("=HH", body, 12)
    assert (length, kind, len(body)) == (10, 2, 24)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["up", "four.toml", "--name", ""], "'' is not a valid lab name"),
        (["up", "four.toml", "--switch", "user,buffer=banana"], "'banana' is not a size"),
        (["down", "--all", "x"], "both x and --all were given"),
        (["down"], "name a lab, or give --all"),
        (
            ["fault", "plant", "x", "dead", "n1", "--to", "10%"],
            "dead has no --to, which is for slow; leave it out",
        ),
        (["fault", "plant", "x", "ded", "n1"], "'ded' is unknown; did you mean dead?"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_is_done(
    words: list[str], why: str, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state.write(RECORD)
    assert _status(["lab", *words]) == 2
    assert why in capsys.readouterr().err
    assert [path.name for path in root.iterdir()] == ["x"]


def test_down_all_leaves_the_labs_of_runs_under_way(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state.write(replace(RECORD, owner=state.this_process()))
    assert main(["lab", "down", "--all"]) == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert f"lab x was left up: process {os.getpid()} built it for a run" in said.err
    assert [path.name for path in root.iterdir()] == ["x"]
    state.write(replace(RECORD, owner=state.Process(os.getpid(), 1)))  # an earlier process with the same id
    assert main(["lab", "down", "--all"]) == 0
    assert capsys.readouterr().out == "lab x is down\n"
    assert not root.exists()


def _status(words: list[str]) -> object:
    try:
        return main(words)
    except SystemExit as refused:  # by the parser
        return refused.code


def test_lifting_all_of_no_faults_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    from test_lab_plan import network

    state.write(RECORD)
    state.write_network("x", network())
    assert main(["lab", "fault", "lift", "x", "all"]) == 0
    assert capsys.readouterr().out == "no faults are planted\n"


@pytest.mark.parametrize(
    ("adapters", "shown"), [(1, ""), (2, "eth1 (10.1.0.x)"), (4, "eth1 (10.1.0.x) to eth3 (10.3.0.x)")]
)
def test_further_adapters_are_shown(adapters: int, shown: str) -> None:
    nodes = [{"addresses": ["10.0.0.1"]}, {"addresses": [f"10.{k}.0.2" for k in range(adapters)]}]
    assert command.further_adapters(nodes) == shown


def test_a_lab_on_which_a_run_is_under_way_goes_only_by_force(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state.write(replace(RECORD, owner=None))
    leave = state.enlist("x")
    assert main(["lab", "down", "x"]) == 1
    assert f"lab x was left up: a run is under way on it (process {os.getpid()})" in capsys.readouterr().err
    assert main(["lab", "down", "--all"]) == 0
    assert "to remove it anyway: crosscut lab down x --force" in capsys.readouterr().err
    assert state.exists("x")
    assert main(["lab", "down", "x", "--force"]) == 0
    assert not root.exists()
    leave()  # the lab is gone


def test_sessions_that_left_or_were_killed_keep_no_lab_up(root: Path) -> None:
    state.write(replace(RECORD, owner=None))
    first, second = state.enlist("x"), state.enlist("x")  # two sessions of one process
    first()
    assert state.measuring("x") == [state.this_process()]
    second()
    assert state.measuring("x") == []
    state.enlist("x")
    (mine,) = (root / "x" / state.USERS).iterdir()
    mine.rename(mine.with_name(f"{os.getpid()}.1.dead"))  # an earlier process with the same id
    for strange in ("", "x.y", "1", f"{'9' * 30}.1", "²2.3"):
        (root / "x" / state.USERS / f"{strange}.").touch()
    assert state.measuring("x") == []
    assert main(["lab", "down", "x"]) == 0
    with pytest.raises(UsageError, match="there is no lab x any more"):
        state.enlist("x")


def test_a_lab_being_taken_down_is_gone_for_running_measurements(root: Path) -> None:
    state.write(RECORD)
    assert not is_gone("x")
    leaving = replace(RECORD, condition="leaving")
    state.write(leaving)
    assert is_gone("x")
    assert describe.condition(leaving) == "broken: it was only partly taken down"
    with state.locked("x"):
        assert describe.condition(leaving) == "being taken down"
    (root / "x" / "lab.json").unlink()
    assert is_gone("x")


def test_a_missing_program_is_reported_before_a_node_is_entered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "data").touch()
    for program, why in (
        ("nosuch", "n1: no program nosuch on PATH"),
        ("/no/such", "n1: no program /no/such\n"),
        (str(tmp_path / "data"), "cannot be run"),
    ):
        with pytest.raises(command.NoProgram, match=why.strip()) as refused:
            command._refuse_missing("n1", program)
        assert refused.value.exit_code == 127
    command._refuse_missing("n1", "sh")
    command._refuse_missing("n1", "/dev/shm/of-the-node")
