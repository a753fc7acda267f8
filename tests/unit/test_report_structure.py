"""The drawing of the inferred network: its groups, and all capacities that they share."""

import re
from dataclasses import replace

from crosscut.analysis.findings.kinds import FindingKind
from crosscut.analysis.findings.model import Direction, Finding
from crosscut.analysis.structure.model import Group, Limit, Reach, Structure
from crosscut.reports.html.meaning import Meaning
from crosscut.reports.html.pictures import structure

HOSTS = tuple(f"n{rank:02d}" for rank in range(8))


def two_groups(*limits, parts=()):
    groups = (Group("left", (0, 1, 2, 3), parts), Group("right", (4, 5, 6, 7)))
    return Structure(groups, limits, (1e7,) * 8, (1e7,) * 8, hosts=HOSTS, notes=("Latency would tell more.",))


def wide(picture):
    return picture.body.partition("</svg>")[0]


def words(picture):
    """The words of the drawing for wide screens, without its legend."""
    found = re.findall(r"<text[^>]*>([^<]*)</text>", wide(picture))
    meant = [meaning.words for meaning in Meaning]
    return found[: next((at for at, one in enumerate(found) if one in meant), None)]


def test_each_direction_of_a_trunk_has_its_capacity_at_its_group():
    limits = (Limit(Reach.LEAVING, ("left",), 95e6), Limit(Reach.ENTERING, ("right",), 50e6))
    found = words(structure.picture(two_groups(*limits), (), "s"))
    assert "↑ 95.0 MB/s" in found
    assert "↓ 50.0 MB/s" in found
    assert "left" in found
    assert "4 hosts: n[00-03]" in found


def test_parts_of_a_group_stand_in_it_with_what_they_share():
    part = Group("left.0", (0, 1))
    found = structure.picture(two_groups(Limit(Reach.SENT, ("left.0",), 20e6), parts=(part,)), (), "s")
    assert "left.0: 2 hosts: n[00-01], 20.0 MB/s" in words(found)


def test_a_limit_of_all_groups_is_drawn_between_them():
    found = structure.picture(two_groups(Limit(Reach.CROSSING, (), 8e8)), (), "s")
    assert "between groups: 800 MB/s in all" in words(found)
    assert "All that goes between groups: 800 MB/s." in found.caption
    assert "Latency would tell more." in found.caption


def test_ranks_without_groups_are_not_drawn():
    assert structure.picture(None, (), "s") is None
    assert structure.picture(Structure((Group("all", (0, 1)),), (), (1.0,) * 2, (1.0,) * 2), (), "s") is None


def test_of_many_groups_those_with_faults_are_drawn_and_all_others_share_a_box():
    groups = tuple(Group(f"g{number}", (2 * number, 2 * number + 1)) for number in range(20))
    limits = tuple(Limit(Reach.LEAVING, (group.name,), 9e7 + 1e6 * at) for at, group in enumerate(groups))
    slow = (
        Finding(FindingKind.SLOW_TRUNK, "slow", groups=("g17",), direction=Direction.OUT),
        Finding(FindingKind.SLOW_HOST, "slow", ranks=(38,)),
    )
    hosts = tuple(f"n{rank:02d}" for rank in range(40))
    found = structure.picture(Structure(groups, limits, (1.0,) * 40, (1.0,) * 40, hosts=hosts), slow, "s")
    drawn = words(found)
    assert [one for one in drawn if one.startswith("g")][:5] == ["g0", "g1", "g2", "g17", "g19"]
    assert {"15 more groups", "2 hosts each", "g[3-16,18]", "30 hosts", "⚠ n38"} <= {*drawn}
    assert "⚠ ↑ 107 MB/s" in drawn
    assert "↑ 93.0 MB/s to 108 MB/s" in drawn


def test_more_faulty_groups_than_fit_share_a_box_that_names_their_faults():
    groups = tuple(Group(f"g{number}", (number,)) for number in range(20))
    hosts = tuple(f"n{rank:02d}" for rank in range(20))
    slow = [Finding(FindingKind.SLOW_HOST, "slow", ranks=tuple(range(20)))]
    found = words(structure.picture(Structure(groups, (), (1.0,) * 20, (1.0,) * 20, hosts=hosts), slow, "s"))
    assert {"5 more groups", "⚠ n15", "⚠ n18", "⚠ 1 more"} <= {*found}


def test_hostile_names_of_groups_and_hosts_stay_text():
    hostile = "</svg><script>x</script>"
    groups = (Group(hostile, (0,)), Group("b", (1,)))
    found = structure.picture(
        Structure(groups, (), (1.0,) * 2, (1.0,) * 2, hosts=(hostile, hostile)), (), "s"
    )
    assert "<script" not in found.body


def test_the_figures_of_the_drawing_are_its_groups_and_capacities():
    limits = (Limit(Reach.BETWEEN, ("left", "right"), 95e6, 94e6, 96e6), Limit(Reach.CROSSING, (), 8e8))
    found = structure.picture(two_groups(*limits, parts=(Group("left.0", (0, 1)),)), (), "s").columns
    assert found["what"][:3] == ["group"] * 3
    assert found["of"] == ["left", "left.0", "right", "left → right", "all groups"]
    assert found["hosts"][1] == "n[00-01]"
    assert found["bytes_per_second"][3:] == [95e6, 8e8]


def test_faulty_hosts_routes_and_trunks_are_marked_where_they_are():
    limits = (Limit(Reach.LEAVING, ("left",), 95e6), Limit(Reach.ENTERING, ("left",), 30e6))
    found = (
        Finding(FindingKind.SLOW_TRUNK, "", groups=("left",), direction=Direction.IN),
        Finding(FindingKind.SLOW_HOST, "", ranks=(6,)),
        Finding(FindingKind.SLOW_ROUTE, "", ranks=(1, 5), routes=((1, 5),)),
        Finding(FindingKind.GROUPS, "", ranks=(0,), groups=("right",)),
    )
    picture = structure.picture(two_groups(*limits), found, "s")
    body = wide(picture)
    marked = re.findall(r'<text[^>]*fill="var\(--fault\)"[^>]*>([^<]*)</text>', body)
    assert marked == ["⚠ ↓ 30.0 MB/s", "⚠ n01 → n05", "⚠ n06"]
    assert {"↑ 95.0 MB/s", "3 other hosts"} <= {*words(picture)}
    # The trunk, the route, the host and the legend; dashed, for readers who cannot tell colours apart.
    faulty = re.findall(r'<path[^>]*stroke="var\(--fault\)"[^>]*>', body)
    assert [Meaning.FAULT.dashes in one for one in faulty] == [True] * 4


def test_many_faulty_hosts_of_a_group_are_counted():
    found = (Finding(FindingKind.SLOW_HOST, "", ranks=tuple(range(100))),)
    groups = (Group("left", tuple(range(50))), Group("right", tuple(range(50, 100))))
    drawn = Structure(groups, (), (1e7,) * 100, (1e7,) * 100, hosts=tuple(f"n{rank}" for rank in range(100)))
    assert words(structure.picture(drawn, found, "s")).count("⚠ 46 more") == 2


def test_the_trunk_of_a_slow_cable_is_marked_and_not_each_of_its_routes():
    cable = Finding(
        FindingKind.SLOW_CABLE, "", ranks=(0, 1, 2, 3), routes=((0, 5), (1, 6)), groups=("left",),
        direction=Direction.OUT,
    )  # fmt: skip
    said = words(structure.picture(two_groups(), (cable,), "s"))
    assert [one for one in said if one.startswith("⚠")] == ["⚠ ↑ slow"]


def test_slow_trunks_between_two_groups_and_within_one_are_marked():
    between = Finding(FindingKind.SLOW_TRUNK, "", groups=("left", "right"))
    inner = Finding(FindingKind.SLOW_TRUNK, "", groups=("left.0",), direction=Direction.IN)
    parts = (Group("left.0", (0, 1)), Group("left.1", (2, 3)))
    said = words(structure.picture(two_groups(parts=parts), (between, inner), "s"))
    marked = [one for one in said if one.startswith("⚠")]
    assert marked == ["⚠ ↑ slow to right", "⚠ ↓ slow from left", "⚠ trunk of left.0"]


def test_a_host_of_unknown_group_is_drawn_apart():
    unknown = replace(two_groups(Limit(Reach.LEAVING, ("left",), 95e6)), unplaced=(2,))
    found = structure.picture(
        unknown, [Finding(FindingKind.SLOW_HOST, "n02", ranks=(2,), hosts=("n02",))], "s"
    )
    drawn = words(found)
    assert "3 hosts: n[00-01,03]" in drawn
    assert drawn[-3:] == ["group unknown", "1 host: n02", "⚠ n02"]
    assert 'stroke="var(--unknown)"' in found.body
    assert "2 groups of 3 and 4 hosts. Drawn apart: 1 host whose group is unknown." in found.caption


def test_a_slow_host_on_the_only_switch_is_drawn_and_a_sound_network_of_one_is_not():
    alone = Structure((Group("all", (0, 1, 2)),), (), (1e7,) * 3, (1e7,) * 3, hosts=HOSTS[:3])
    slow = Finding(FindingKind.SLOW_HOST, "", ranks=(1,), hosts=("n01",))
    for drawn in (alone, replace(alone, groups=())):
        assert words(structure.picture(drawn, [slow], "s"))[-2:] == ["⚠ n01", "2 other hosts"]
        assert structure.picture(drawn, [], "s") is None


def test_the_drawing_for_narrow_screens_says_the_same():
    groups = tuple(Group(f"g{number}", (number,)) for number in range(8))
    body = structure.picture(Structure(groups, (), (1.0,) * 8, (1.0,) * 8, hosts=HOSTS), (), "s").body
    wide_words, narrow_words = (
        set(re.findall(r"<text[^>]*>([^<]*)</text>", one)) for one in body.split("</svg>")[:2]
    )
    assert wide_words == narrow_words
    assert [re.search(r'class="(\w+)"', one)[1] for one in body.split("</svg>")[:2]] == ["wide", "narrow"]
