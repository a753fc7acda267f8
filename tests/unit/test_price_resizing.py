"""The same design for another number of hosts: which parameters change, which designs cannot be resized."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from crosscut.base.errors import UsageError
from crosscut.pricing.asking import parse_nodes
from crosscut.pricing.resizing import NotResizable, resized

PROTOCOL = '\n[protocol]\nname = "TCP"   # hosts = 3\n'


def generator(text: str, hosts: int, folder: Path) -> dict[str, object]:
    path = folder / "net.toml"
    path.write_text(f"# a comment\n[generator]\n{text}{PROTOCOL}", encoding="utf-8")
    document = tomllib.loads(resized(path, hosts))
    assert document["protocol"] == {"name": "TCP"}
    found: dict[str, object] = document["generator"]
    return found


@pytest.mark.parametrize(
    ("before", "hosts", "changed"),
    [
        ('kind = "crossbar"\nhosts = 16', 40, {"hosts": 40}),
        ('kind = "stacked-tree"\nleaves = 8\nhosts_per_leaf = 16', 17, {"leaves": 2}),
        ('kind = "stacked-tree"\nhosts_per_leaf = 16', 256, {"leaves": 16}),
        ('kind = "module-chassis"\nmodules = 4\nhosts_per_asic = 16', 64, {"hosts": 64, "modules": 4}),
        ('kind = "module-chassis"\nmodules = 4\nhosts_per_asic = 16', 129, {"hosts": 129, "modules": 5}),
        # Half of the leaves need half of the spines, with two cables to each.
        ('kind = "clos"\nleaves = 16\nhosts_per_leaf = 8\nspines = 8', 64,
         {"leaves": 8, "spines": 4, "uplinks": 2}),
        ('kind = "clos"\nleaves = 16\nhosts_per_leaf = 8\nspines = 8', 65,
         {"leaves": 9, "spines": 8, "uplinks": 1}),
        ('kind = "torus"\ndimensions = "8x8"', 100, {"dimensions": "10x10"}),
        ('kind = "torus"\ndimensions = "8x8"', 90, {"dimensions": "10x9"}),
        ('kind = "torus"\ndimensions = "4x4x4"', 1000, {"dimensions": "10x10x10"}),
        ('kind = "fat-tree"\ndown = "4x4x4"\nup = "4x4"', 256, {"down": "4x4x4x4", "up": "4x4x4"}),
        ('kind = "fat-tree"\ndown = "4x4x4"\nup = "4x4"', 16, {"down": "4x4", "up": "4"}),
    ],
)  # fmt: skip
def test_a_generated_network_gets_the_requested_size(
    before: str, hosts: int, changed: dict[str, object], tmp_path: Path
) -> None:
    assert generator(before, hosts, tmp_path) == tomllib.loads(before) | changed


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            'kind = "clos"\nleaves = 16\nhosts_per_leaf = 8\nspines = 8',
            "a third level would make it another network",
        ),
        ('kind = "clos"\nleaves = 16\nhosts_per_leaf = 8\ntaper = 2.0', "number of spines"),
        ('kind = "dragonfly"', "a dragonfly"),
        ('kind = "fat-tree"\ndown = "16x16x4"\nup = "16x8"', "the levels of its fat tree differ"),
    ],
)
def test_a_design_without_the_requested_size_is_refused_with_the_reason(
    text: str, why: str, tmp_path: Path
) -> None:
    with pytest.raises(NotResizable, match=why):
        generator(text, 1000, tmp_path)


def test_a_listed_network_has_no_other_size(tmp_path: Path) -> None:
    path = tmp_path / "net.toml"
    path.write_text('[[hosts]]\nnames = "n[0-3]"\n', encoding="utf-8")
    with pytest.raises(NotResizable, match="listed host by host"):
        resized(path, 8)


def test_a_generator_that_cannot_be_changed_line_by_line_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "net.toml"
    path.write_text('generator = { kind = "crossbar", hosts = 4 }\n', encoding="utf-8")
    with pytest.raises(NotResizable, match="a table of its own"):
        resized(path, 8)


def test_keys_of_other_tables_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "net.toml"
    path.write_text(
        '[generator]\nkind = "crossbar"\nhosts = 4\n\n[layout]\nhosts = "by rack"\n', encoding="utf-8"
    )
    assert resized(path, 8).count("hosts = ") == 2
    assert 'hosts = "by rack"' in resized(path, 8)


@pytest.mark.parametrize("content", [b"\xff", b"a = ", None])
def test_a_file_that_cannot_be_read_is_named(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "net.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError, match=r"net\.toml"):
        resized(path, 8)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("16", (16,)),
        ("32,16,16", (16, 32)),
        ("16-128", (16, 32, 64, 128)),
        ("16-100", (16, 32, 64)),
        ("24-96:24", (24, 48, 72, 96)),
        ("1-3:1,128", (1, 2, 3, 128)),
    ],
)
def test_numbers_of_nodes_are_read_as_written(text: str, numbers: tuple[int, ...]) -> None:
    assert parse_nodes(text) == numbers


@pytest.mark.parametrize(
    "text", ["", "0", "-3", "16-8", "x", "8-16:0", "8-16:00", "1-1000000:1", "999999999", "1,,2", "²"]
)
def test_an_invalid_number_of_nodes_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_nodes(text)
