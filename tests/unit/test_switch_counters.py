"""Counters of the switch's ports in findings."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosscut.analysis.findings import cable_names
from crosscut.analysis.findings.kinds import FindingKind
from crosscut.analysis.findings.model import Finding
from crosscut.base.errors import UsageError
from crosscut.cabling import switch_counters
from crosscut.cabling.model import Cabling, Port, Trunk
from crosscut.cli import main

HEAD = "switch,port,counter,value\n"
PORTS = tuple(Port(f"n{at}", switch="leaf1", port=str(at)) for at in range(1, 9))


def lists(folder: Path, before: str, after: str) -> switch_counters.Ports:
    (folder / "before.csv").write_text(HEAD + before)
    (folder / "after.csv").write_text(HEAD + after)
    return switch_counters.read(folder / "before.csv", folder / "after.csv")


def quiet_ports(but: int = 0) -> str:
    return "".join(f"leaf1,{at},crc_errors,3\n" for at in range(1, 9) if at != but)


def test_counters_that_grew_are_reported_but_not_bytes(tmp_path: Path) -> None:
    found = lists(
        tmp_path, quiet_ports() + "leaf1,1,rx_bytes,5\n",
        quiet_ports(4) + "leaf1,4,crc_errors,15\nleaf1,4,out_discards,7\nleaf1,1,rx_bytes,900\n",
    )  # fmt: skip
    assert found == {("leaf1", "4"): {"crc_errors": 12, "out_discards": 7}}
    assert switch_counters.of_wire(found["leaf1", "4"]) == {"crc_errors": 12}


def test_a_port_that_had_to_wait_is_reported_under_either_name_but_may_be_sound(tmp_path: Path) -> None:
    after = quiet_ports() + "leaf1,4,PortXmitWait,7\nleaf1,5,port_xmit_wait,8\n"
    found = lists(tmp_path, quiet_ports(), after)
    assert found == {("leaf1", "4"): {"PortXmitWait": 7}, ("leaf1", "5"): {"port_xmit_wait": 8}}
    assert [switch_counters.of_wire(grown) for grown in found.values()] == [{}, {}]


def test_counts_of_half_of_the_ports_are_not_a_finding(tmp_path: Path) -> None:
    before = quiet_ports()
    after = "".join(f"leaf1,{at},crc_errors,{3 + (at <= 5)}\n" for at in range(1, 9))
    assert lists(tmp_path, before, after) == {}


def cabling(**counted: int) -> Cabling:
    trunk = Trunk("leaf1", "49", "spine", "1")
    return Cabling(
        PORTS, (trunk,), counted={("leaf1", port[1:]): {"crc_errors": n} for port, n in counted.items()}
    )


def test_a_slow_host_is_reported_with_its_port_s_counters() -> None:
    slow = Finding(FindingKind.SLOW_HOST, "n4 sends at half.", ranks=(3,), hosts=("n4",))
    found, _ = cable_names.named([slow], None, cabling(p4=12))
    assert [one.what for one in found] == [
        "n4 sends at half [switch leaf1 port 4]; switch leaf1 port 4 counted crc_errors +12"
    ]


def test_errors_of_a_port_without_a_finding_are_a_separate_finding() -> None:
    found, _ = cable_names.named([], None, cabling(p2=1, p49=5))
    assert [one.kind for one in found] == [FindingKind.COUNTED, FindingKind.COUNTED]
    assert "switch leaf1 port 2 (to n2) counted" in found[0].what
    assert "switch leaf1 port 49 (to spine port 1) counted" in found[1].what


def test_discards_alone_are_not_a_finding() -> None:
    full = replace(cabling(), counted={("leaf1", "3"): {"out_discards": 99}})
    assert cable_names.named([], None, full)[0] == []


def test_the_first_of_many_ports_with_errors_are_named() -> None:
    dropped = {("leaf0", str(at)): {"rx_dropped": 7} for at in range(1, 9)}
    wrong = {("leaf1", str(at)): {"crc_errors": 7} for at in range(1, 11)}
    ((one,), _) = cable_names.named([], None, replace(cabling(), counted=dropped | wrong))
    assert one.what.startswith("10 ports of switches counted errors")
    assert one.what.endswith(": " + ", ".join(f"leaf1 port {at}" for at in range(1, 9)) + ", …")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("switch,port,counter\n", "list:1: the first line must name"),
        (HEAD + "leaf1,1,crc\n", "list:2: 3 cells"),
        (HEAD + "leaf1,1,crc,many\n", "list:2: 'many' is not a count"),
        (HEAD + '"leaf1,1,crc,4\n', "list:2: "),
        ("", "list:1: the first line"),
    ],
)
def test_a_mistake_in_a_list_is_named_with_its_line(text: str, said: str) -> None:
    with pytest.raises(UsageError) as error:
        switch_counters.parse(text, "list")
    assert said in str(error.value)


@given(st.text(max_size=80))
def test_any_text_is_a_list_or_refused(text: str) -> None:
    with contextlib.suppress(UsageError):
        switch_counters.parse(HEAD + text, "list")


def test_lists_of_other_switches_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="name no switch in common"):
        lists(tmp_path, "leaf1,1,crc,0\n", "leaf2,1,crc,0\n")


def test_a_counter_that_a_switch_did_not_list_before_was_zero(tmp_path: Path) -> None:
    found = lists(tmp_path, "leaf1,1,crc,5\n", "leaf1,2,crc,7\n")
    assert found == {("leaf1", "2"): {"crc": 7}}
    assert lists(tmp_path, "", "leaf1,2,crc,7\n") == found


def test_counters_without_cabling_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["locate", "any.zarr", "--switch-counters", "a.csv", "b.csv"]) == 2
    assert "--switch-counters needs --cabling" in capsys.readouterr().err
