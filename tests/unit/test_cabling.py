"""Cable lists in the formats of other programs, and findings with their names."""

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
from crosscut.analysis.structure.model import Group, Limit, Reach, Structure
from crosscut.base.errors import UsageError
from crosscut.cabling import ibnetdiscover, inventory, lldp, reading, slurm_topology
from crosscut.cabling.model import Cabling, Port, Trunk, merged
from crosscut.cli import main

IBNETDISCOVER = """\
#
# Topology file: generated on Sun Nov 22 05:00:00 2026
#
vendid=0x2c9
devid=0xc738
sysimgguid=0x2c90200423e60
switchguid=0x2c90200423e60(2c90200423e60)
Switch\t36 "S-0002c90200423e60"\t\t# "MF0;leaf1:SX6036/U1" enhanced port 0 lid 3 lmc 0
[1]\t"H-0002c9030010a1b0"[1](2c9030010a1b1) \t\t# "n0001 HCA-1" lid 4 4xQDR
[2]\t"H-0002c9030010a1c0"[1](2c9030010a1c1) \t\t# "n0002 mlx4_0" lid 5 4xQDR
[36]\t"S-0002c90200aabbcc"[7]\t\t# "spine 1" lid 2 4xQDR

vendid=0x2c9
switchguid=0x2c90200aabbcc(2c90200aabbcc)
Switch\t36 "S-0002c90200aabbcc"\t\t# "spine 1" base port 0 lid 2 lmc 0
[7]\t"S-0002c90200423e60"[36]\t\t# "MF0;leaf1:SX6036/U1" lid 3 4xQDR

Ca\t1 "H-0002c9030010a1b0"\t\t# "n0001 HCA-1"
[1](2c9030010a1b1) \t"S-0002c90200423e60"[1]\t\t# lid 4 lmc 0 "MF0;leaf1:SX6036/U1" lid 3 4xQDR
"""
LLDP_JSON = """{"lldp": {"interface": [
  {"eth0": {"via": "LLDP", "chassis": {"leaf1": {"id": {"type": "mac", "value": "00:11:22:33:44:55"}}},
            "port": {"id": {"type": "ifname", "value": "Ethernet12"}, "descr": "to n0001"}}},
  {"eth1": {"chassis": {"id": {"type": "mac", "value": "66:77:88:99:aa:bb"}}, "port": {"descr": "port 3"}}}
]}}"""
LLDP_KEYVALUE = """lldp.eth0.via=LLDP
lldp.eth0.chassis.mac=00:11:22:33:44:55
lldp.eth0.chassis.name=leaf1
lldp.eth0.port.ifname=Ethernet12
lldp.eth0.port.descr=to=n0001
"""


def test_an_inventory_has_the_columns_that_it_names() -> None:
    head = "# of May\nhost,rack,switch,port,to_switch,to_port,cable\n"
    text = head + "n1,r3,leaf1,12,,,4711\n,,leaf1,49,spine,1,C9\n"
    found = inventory.parse(text, "list.csv")
    assert found.ports == (Port("n1", rack="r3", switch="leaf1", port="12", cable="4711"),)
    assert found.trunks == (Trunk("leaf1", "49", "spine", "1", "C9"),)
    assert found.ports[0].text() == "rack r3, switch leaf1 port 12, cable 4711"
    assert found.trunks[0].text() == "leaf1 port 49 – spine port 1 (cable C9)"


def test_an_inventory_may_quote_its_columns_and_begin_with_an_indented_comment() -> None:
    found = inventory.parse('  # of a spreadsheet\n"Host","switch"\n"n1","leaf 1, rear"\n', "list.csv")
    assert found.ports == (Port("n1", switch="leaf 1, rear"),)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("host,colour\n", "list.csv:1: unknown column 'colour'"),
        ("host,host\n", "list.csv:1: a column is named twice"),
        ("rack,port\n", "there is no column 'host'"),
        ("host,port\n\nn1\n", "list.csv:3: 1 cells, but the header has 2"),
        ('host,port\n"n1,2\n', "list.csv:2: "),
        ("host,switch\n,leaf1\n", "list.csv:2: names neither"),
        ("host,to_switch\nn1,leaf1\n", "list.csv:2: names host n1 and also 'to_switch'"),
    ],
)
def test_a_mistake_in_an_inventory_is_named_with_its_line(text: str, said: str) -> None:
    with pytest.raises(UsageError) as error:
        inventory.parse(text, "list.csv")
    assert said in str(error.value)


def test_slurm_s_topology_has_the_nodes_of_each_switch() -> None:
    leaves = "SwitchName=s0 Nodes=n[00-01],m7 # left\nswitchname=s1 nodes=n[02-03] \\\n  LinkSpeed=9\n"
    text = leaves + "SwitchName=top Switches=s[0-1]\n"
    found = slurm_topology.parse(text, "topology.conf")
    assert {port.host: port.switch for port in found.ports} == {
        "n00": "s0", "n01": "s0", "m7": "s0", "n02": "s1", "n03": "s1",
    }  # fmt: skip
    assert found.above == {"s0": "top", "s1": "top"}


@pytest.mark.parametrize("text", ["Nodes=n1", "SwitchName=s0", "SwitchName=s0 Nodes=n[3-1]"])
def test_a_mistake_in_slurms_topology_is_named_with_its_line(text: str) -> None:
    with pytest.raises(UsageError, match=r"topology\.conf:2: "):
        slurm_topology.parse("SwitchName=a Nodes=b\n" + text, "topology.conf")


def test_lldp_has_switch_and_port() -> None:
    assert lldp.parse_json(LLDP_JSON, "n0001.json", "n0001").ports == (
        Port("n0001", "eth0", switch="leaf1", port="Ethernet12"),
        Port("n0001", "eth1", switch="66:77:88:99:aa:bb", port="port 3"),
    )
    assert lldp.parse_keyvalue(LLDP_KEYVALUE, "n0001").ports == (
        Port("n0001", "eth0", switch="leaf1", port="Ethernet12"),
    )
    assert lldp.parse_json('{"lldp": {}}', "n1.json", "n1") == Cabling()


def test_an_adapter_with_two_neighbours_keeps_the_first_in_both_forms() -> None:
    def entry(switch: str) -> str:
        return f'{{"eth0": {{"chassis": {{"{switch}": {{}}}}, "port": {{"descr": "3"}}}}}}'

    listed = f'{{"lldp": {{"interface": [{entry("leaf1")}, {entry("leaf2")}]}}}}'
    lines = "".join(
        f"lldp.eth0.chassis.name={switch}\nlldp.eth0.port.descr=3\n" for switch in ("leaf1", "leaf2")
    )
    found = merged([lldp.parse_json(listed, "n1.json", "n1")])
    assert found == merged([lldp.parse_keyvalue(lines, "n1")])
    assert found == Cabling((Port("n1", "eth0", switch="leaf1", port="3"),))


@pytest.mark.parametrize(
    "text", ["{", "{}", '{"lldp": 3}', '{"lldp": {"interface": {"eth0": 3}}}', "[" * 100_000]
)
def test_text_that_is_not_lldpctl_s_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"n1\.json: not what"):
        lldp.parse_json(text, "n1.json", "n1")


def test_infinibands_topology_has_hosts_and_trunks() -> None:
    found = ibnetdiscover.parse(IBNETDISCOVER, "ib.topo")
    assert found.ports == (
        Port("n0001", "HCA-1", switch="leaf1", port="1"),
        Port("n0002", "mlx4_0", switch="leaf1", port="2"),
    )
    assert found.trunks == (Trunk("leaf1", "36", "spine 1", "7"),)
    with pytest.raises(UsageError, match=r"ib\.topo:9: "):
        ibnetdiscover.parse(IBNETDISCOVER.replace('"H-0002c9030010a1b0"[1]', "H", 1), "ib.topo")


def test_formats_are_recognised_and_a_folder_has_a_file_per_host(tmp_path: Path) -> None:
    (tmp_path / "lldp").mkdir()
    (tmp_path / "lldp" / "n0001.json").write_text(LLDP_JSON)
    (tmp_path / "lldp" / "n0002").write_text(LLDP_KEYVALUE)
    for name, text in (
        ("ib", IBNETDISCOVER),
        ("t.conf", "SwitchName=s Nodes=n3\n"),
        ("l.csv", "host,rack\nn0001,r1\n"),
    ):
        (tmp_path / name).write_text(text)
    found = reading.read([tmp_path / "lldp"])
    assert [(port.host, port.adapter) for port in found.ports] == [
        ("n0001", "eth0"), ("n0001", "eth1"), ("n0002", "eth0"),
    ]  # fmt: skip
    assert reading.read([tmp_path / "ib"]).switches_of("n0002") == {"leaf1"}
    assert (
        reading.read([tmp_path / "t.conf", tmp_path / "l.csv"]).of_host("n0001.cluster.org")[0].rack == "r1"
    )


@pytest.mark.parametrize("begin", ["  # of May\n", "\t# of May\n", "# of May\n", "PlaneSize=4\n"])
def test_slurms_topology_is_recognised_whatever_it_begins_with(begin: str, tmp_path: Path) -> None:
    (tmp_path / "topology.conf").write_text(f"{begin}SwitchName=s Nodes=n3\n")
    assert reading.read([tmp_path / "topology.conf"]).switches_of("n3") == {"s"}


def test_a_setting_that_is_not_of_slurms_topology_is_refused_as_such(tmp_path: Path) -> None:
    (tmp_path / "topology.conf").write_text("TopologyParam=RoutePart\nSwitchName=s Nodes=n3\n")
    with pytest.raises(UsageError, match=r"topology\.conf:1: no SwitchName= or BlockName="):
        reading.read([tmp_path / "topology.conf"])


@pytest.mark.parametrize("made", ["absent", "empty", "folder"])
def test_an_unreadable_file_is_named(made: str, tmp_path: Path) -> None:
    path = tmp_path / "cables"
    if made == "empty":
        path.write_text("\n# nothing\n")
    if made == "folder":
        path.mkdir()
    with pytest.raises(UsageError, match="cables: "):
        reading.read([path])


@given(
    st.text(max_size=400) | st.sampled_from([IBNETDISCOVER, LLDP_JSON, LLDP_KEYVALUE]).map(lambda t: t[7:-9])
)
def test_any_text_is_read_or_refused(text: str) -> None:
    for parse in (
        lambda: inventory.parse(text, "f"), lambda: slurm_topology.parse(text, "f"),
        lambda: lldp.parse_json(text, "f", "h"), lambda: lldp.parse_keyvalue(text, "h"),
        lambda: ibnetdiscover.parse(text, "f"),
    ):  # fmt: skip
        with contextlib.suppress(UsageError):
            assert isinstance(parse(), Cabling)


def test_later_files_fill_gaps_and_disagreement_is_reported() -> None:
    one = Cabling((Port("n1", rack="r1", switch="a", port="3"), Port("n2", switch="a")))
    two = Cabling((Port("n1.site.org", "eth0", switch="a", port="4"),))
    found = merged([one, two])
    assert found.of_host("n1") == [Port("n1.site.org", "eth0", rack="r1", switch="a", port="4")]
    assert found.disagreements == (
        "n1.site.org: port is 3 in one file but 4 in a later one; the later one is used",
    )
    assert len(found.ports) == 2


def test_hosts_named_by_address_are_not_one_host() -> None:
    ports = tuple(Port(f"10.0.0.{at}", switch=f"leaf{at}") for at in (1, 2))
    found = merged([Cabling(ports)])
    assert found == Cabling(ports)
    assert found.switches_of("10.0.0.2") == {"leaf2"}
    assert found.switches_of("10.0.0.3") == set()


def structure_of(groups: dict[str, tuple[int, ...]], ranks: int) -> Structure:
    return Structure(
        tuple(Group(name, members) for name, members in groups.items()),
        (Limit(Reach.BETWEEN, tuple(groups)[:2], 1e8),), (1.0,) * ranks, (1.0,) * ranks,
        tuple(f"n{rank}" for rank in range(ranks)),
    )  # fmt: skip


def test_a_group_is_named_after_its_switch_and_a_host_after_its_place() -> None:
    structure = structure_of({"group1": (0, 1, 2, 3), "group10": (4, 5, 6, 7)}, 8)
    ports = tuple(Port(f"n{rank}", switch=f"leaf{rank // 4}", port=str(rank)) for rank in range(8))
    trunks = (Trunk("leaf0", "49", "leaf1", "49"), Trunk("leaf1", "50", "other", "1"))
    found = [
        Finding(FindingKind.SLOW_HOST, "n5 sends at half.", hosts=("n5",)),
        Finding(FindingKind.SLOW_TRUNK, "slow from group1 to group10", groups=("group1", "group10")),
    ]
    told, renamed = cable_names.named(found, structure, Cabling(ports, trunks))
    assert told[0].what == "n5 sends at half [switch leaf1 port 5]"
    assert told[1].what == "slow from leaf0 to leaf1 [leaf0 port 49 – leaf1 port 49]"
    assert renamed is not None
    assert [group.name for group in renamed.groups] == ["leaf0", "leaf1"]
    assert renamed.limits[0].groups == told[1].groups == ("leaf0", "leaf1")
    assert renamed.notes == ()


def test_hosts_that_measure_like_those_of_another_switch_are_named() -> None:
    structure = structure_of({"group0": (0, 1, 2, 7), "group1": (4, 5, 6, 3)}, 8)
    ports = tuple(Port(f"n{rank}", switch=f"leaf{rank // 4}") for rank in range(8))
    _, renamed = cable_names.named([], structure, Cabling(ports))
    assert renamed is not None
    assert [group.name for group in renamed.groups] == ["leaf0", "leaf1"]
    assert [note.split(",")[0] for note in renamed.notes] == [
        "the cabling puts n7 on leaf1", "the cabling puts n3 on leaf0",
    ]  # fmt: skip


def test_a_slow_host_measures_like_those_of_no_switch() -> None:
    """Its cable hides what it shares with others."""
    structure = structure_of({"group0": (0, 1, 2, 7), "group1": (4, 5, 6, 3)}, 8)
    ports = tuple(Port(f"n{rank}", switch=f"leaf{rank // 4}") for rank in range(8))
    slow = Finding(FindingKind.SLOW_HOST, "n7 sends at half.", ranks=(7,), hosts=("n7",))
    for found, unplaced in (([slow], (3,)), ([], (3, 7))):
        _, renamed = cable_names.named(found, replace(structure, unplaced=unplaced), Cabling(ports))
        assert renamed is not None
        assert renamed.notes == ()


def test_groups_that_match_no_switch_keep_their_names() -> None:
    structure = structure_of({"group0": (0, 2, 4, 6), "group1": (1, 3, 5, 7)}, 8)
    ports = tuple(Port(f"n{rank}", switch=f"leaf{rank // 4}") for rank in range(8))
    _, renamed = cable_names.named([], structure, Cabling(ports))
    assert renamed is not None
    assert renamed.groups == structure.groups
    assert renamed.notes == ()


def test_a_faulty_host_that_the_list_lacks_is_said_to_be_missing() -> None:
    slow = Finding(FindingKind.SLOW_HOST, "n5 sends at half.", hosts=("n5",))
    (told,), _ = cable_names.named([slow], None, Cabling((Port("x1", switch="leaf0"),)))
    assert told.what == "n5 sends at half [not in the list of cables]"
    assert cable_names.named([slow], None, Cabling())[0] == [slow]


def test_switches_without_the_limit_of_another_like_them_are_named() -> None:
    structure = structure_of({"group0": (0, 1, 2, 3), "group1": tuple(range(4, 12))}, 12)
    limit = Finding(FindingKind.SHARED_LIMIT, "shared limit: 5 MB/s", groups=("group0", "group1"))
    ports = tuple(Port(f"n{rank}", switch=f"leaf{rank // 4}") for rank in range(12))
    trunks = (Trunk("leaf0", "49", "spine", "1"), Trunk("leaf1", "50", "spine", "2"))
    (told,), _ = cable_names.named([limit], structure, Cabling(ports, trunks))
    assert told.what.endswith("share no such limit [leaf0 port 49 – spine port 1]")
    (told,), _ = cable_names.named([limit], structure, Cabling(ports))
    assert told.what == "shared limit: 5 MB/s; leaf[1-2], with about as many hosts, share no such limit"
    uneven = tuple(Port(f"n{rank}", switch=f"leaf{min(rank // 4, 1)}") for rank in range(12))
    (told,), _ = cable_names.named([limit], structure, Cabling(uneven))
    assert told.what == limit.what


def test_limits_of_two_of_three_groups_are_not_compared_with_switches_that_share_them() -> None:
    structure = structure_of({"group0": (0, 1), "group1": (2, 3, 4, 5), "group2": (6, 7)}, 8)
    limit = Finding(FindingKind.SHARED_LIMIT, "shared limit: 5 MB/s each", groups=("group0", "group1"))
    ports = tuple(Port(f"n{rank}", switch=f"leaf{rank // 2}") for rank in range(8))
    trunks = (Trunk("leaf0", "49", "spine", "1"), Trunk("leaf1", "50", "spine", "2"))
    (told,), _ = cable_names.named([limit], structure, Cabling(ports, trunks))
    assert told == replace(limit, groups=("leaf0", "leaf1 + leaf2"))


def test_without_structure_hosts_still_have_places() -> None:
    found = [Finding(FindingKind.SLOW_ROUTE, "slow: n0 to n1", hosts=("n0", "n1"))]
    told, structure = cable_names.named(found, None, Cabling((Port("n0", rack="r1"), Port("n1", rack="r2"))))
    assert structure is None
    assert told[0].what == "slow: n0 to n1 [n0: rack r1; n1: rack r2]"


@pytest.mark.parametrize("words", [("show", "--findings"), ("locate",)])
def test_commands_name_switches(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = "host,switch\n" + "".join(f"n{at:04d},brocade{at // 8}\n" for at in range(16))
    (tmp_path / "list.csv").write_text(listed)
    (tmp_path / "network.toml").write_text(
        '[generator]\nkind = "stacked-tree"\nleaves = 2\nhosts_per_leaf = 8\n'
        'rate = "100 Mbit/s"\nuplink_rate = "200 Mbit/s"\n'
    )
    run = str(tmp_path / "run.zarr")
    simulated = ["run", "aapc", "--on", f"sim:{tmp_path / 'network.toml'}", "--size", "1MB", "--out", run]
    assert main([*simulated, "--quiet"]) == 0
    capsys.readouterr()
    assert main([*words, run, "--cabling", str(tmp_path / "list.csv")]) == 0
    assert "brocade1: 8 hosts" in capsys.readouterr().out
    assert main([*words, run, "--cabling", str(tmp_path / "none.csv")]) == 2
    assert "none.csv: " in capsys.readouterr().err


def test_an_entry_without_an_adapter_stands_for_one_port_alone() -> None:
    unnamed = Cabling((Port("n1", switch="leaf1", rack="r3"),))
    named = Cabling((Port("n1", "eth0", switch="leaf1"), Port("n1", "eth1", switch="leaf2")))
    found = merged([unnamed, named])
    assert found.ports == (
        Port("n1", "eth0", switch="leaf1", rack="r3"),
        Port("n1", "eth1", switch="leaf2"),
    )
    assert found.disagreements == ()


def test_a_list_of_another_cluster_is_noticed() -> None:
    cabling = Cabling((Port("x1", switch="leaf0"), Port("x2", switch="leaf0")))
    assert cabling.stranger_to(["n0", "n1"]) == (
        "none of the hosts n[0-1] is in the cabling, which names x[1-2]"
    )
    assert cabling.stranger_to(["n0", "x2"]) == ""
    assert Cabling().stranger_to(["n0"]).endswith("which names no host")
