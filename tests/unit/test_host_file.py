"""Host files, and the distribution of ranks."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosscut.base.errors import PlaceError, UsageError
from crosscut.base.host_list import HostEntry, Share, expand, read_host_file, share_out


def write(folder: Path, text: str) -> Path:
    path = folder / "hosts.txt"
    path.write_text(text)
    return path


def test_names_slots_comments_and_ranges_are_read(tmp_path: Path) -> None:
    path = write(tmp_path, "# rack 1\nlogin slots=2  # with a comment\n\nn[001-003,007]\n")
    assert read_host_file(path) == [
        HostEntry("login", 2), HostEntry("n001"), HostEntry("n002"), HostEntry("n003"), HostEntry("n007"),
    ]  # fmt: skip


def test_leading_zeros_of_slots_are_ignored(tmp_path: Path) -> None:
    assert read_host_file(write(tmp_path, "a slots=0000000000004\n")) == [HostEntry("a", 4)]


def test_a_host_named_twice_has_the_sum_of_its_slots(tmp_path: Path) -> None:
    assert read_host_file(write(tmp_path, "a\nb\na slots=3\n")) == [HostEntry("a", 4), HostEntry("b", 1)]


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("n[9-11]", ["n9", "n10", "n11"]),
        ("r[1-2]n[01-02]", ["r1n01", "r1n02", "r2n01", "r2n02"]),
        ("n[1].cluster", ["n1.cluster"]),
        ("plain", ["plain"]),
    ],
)
def test_ranges_expand(pattern: str, names: list[str]) -> None:
    assert list(expand(pattern)) == names


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("-oProxyCommand=x", "not a host name"),
        ("n[3-1]", "1 is below 3"),
        ("n[a]", "not a range"),
        ("n[1-999999999999]", "over 100000"),
        ("n1 slots=0", "from 1 to 4096"),
        ("n1 slots=many", "from 1 to 4096"),
        ("n1 slots=0000000019999", "from 1 to 4096"),
        (f"n1 slots={'9' * 5000}", "from 1 to 4096"),
        ("n1 4", "only slots=N"),
        ("n1;reboot", "not a host name"),
    ],
)
def test_an_error_names_file_and_line(tmp_path: Path, line: str, message: str) -> None:
    path = write(tmp_path, f"good\n{line}\n")
    with pytest.raises(UsageError, match=message) as caught:
        read_host_file(path)
    assert f"{path}, line 2" in str(caught.value)


def test_a_file_without_hosts_and_a_missing_file_are_reported(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="names no host"):
        read_host_file(write(tmp_path, "# nothing\n"))
    with pytest.raises(UsageError, match="there is no such file"):
        read_host_file(tmp_path / "absent")


def test_ranks_are_spread_and_those_of_a_host_are_consecutive() -> None:
    hosts = [HostEntry("a", 4), HostEntry("b", 1), HostEntry("c", 4)]
    assert share_out(6, hosts) == [Share("a", 0, 3), Share("b", 3, 1), Share("c", 4, 2)]
    assert share_out(2, hosts) == [Share("a", 0, 1), Share("b", 1, 1)]


def test_too_few_slots_are_reported() -> None:
    with pytest.raises(PlaceError, match="3 ranks do not fit into the 2 slots of 2 hosts"):
        share_out(3, [HostEntry("a"), HostEntry("b")])


@given(st.lists(st.integers(1, 9), min_size=1, max_size=12), st.data())
def test_every_rank_has_one_host_and_no_host_has_too_many(slots: list[int], data: st.DataObject) -> None:
    ranks = data.draw(st.integers(1, sum(slots)))
    hosts = [HostEntry(f"h{i}", count) for i, count in enumerate(slots)]
    shares = share_out(ranks, hosts)
    assert [rank for share in shares for rank in range(share.first_rank, share.first_rank + share.count)] == (
        list(range(ranks))
    )
    counts = {share.host: share.count for share in shares}
    for host in hosts:
        mine = counts.get(host.name, 0)
        assert mine <= host.slots
        # a host with free slots has at most one rank less than any other
        assert mine == host.slots or mine >= max(counts.values()) - 1
