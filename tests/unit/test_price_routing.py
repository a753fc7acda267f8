"""A network whose file leaves its routing open is described under each routing that it may have."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from crosscut.base.errors import UsageError
from crosscut.pricing import mix
from crosscut.pricing.routing import HASHES, Routing, variants

CLOS = (
    '[generator]\nkind = "clos"\nleaves = 4\nhosts_per_leaf = 8\nspines = 4\nuplinks = 2\n'
    'rate = "100 Gbit/s"\n[host]\nprocessors = 2\n'
)


def made(text: str, folder: Path) -> dict[Routing, list[dict[str, Any]]]:
    path = folder / "net.toml"
    path.write_text(text, encoding="utf-8")
    return {routing: [*map(tomllib.loads, texts)] for routing, texts in variants(path).items()}


def test_an_open_routing_has_several_hashes_one_table_and_pooled_spines(tmp_path: Path) -> None:
    found = made(CLOS, tmp_path)
    assert list(found) == list(Routing)
    hashed = [one["routing"] for one in found[Routing.HASHED]]
    assert hashed == [{"spread": "ecmp", "seed": seed} for seed in range(1, 1 + HASHES)]
    (by_destination,), (packets,) = found[Routing.BY_DESTINATION], found[Routing.PACKETS]
    assert by_destination["routing"] == {"spread": "destination-modulo"}
    # Each leaf keeps 8 x 100 Gbit/s of uplinks.
    assert packets["generator"]["uplink_rate"] == "800 Gbit/s"
    assert (packets["generator"]["spines"], packets["generator"]["uplinks"]) == (1, 1)
    assert all(one["host"] == {"processors": 2} for one in (*found[Routing.HASHED], by_destination, packets))


def test_a_routing_that_the_file_states_is_kept(tmp_path: Path) -> None:
    found = made(CLOS + '[routing]\nspread = "ecmp"\nseed = 7\n', tmp_path)
    assert list(found) == [Routing.HASHED]
    assert [one["routing"]["seed"] for one in found[Routing.HASHED]] == [*range(7, 7 + HASHES)]
    assert made(CLOS + '[routing]\nspread = "destination-modulo"\n', tmp_path) == {}


def test_networks_with_one_shortest_path_have_no_routings(tmp_path: Path) -> None:
    assert made('[generator]\nkind = "crossbar"\nhosts = 4\nrate = "1 Gbit/s"\n', tmp_path) == {}


def test_perfect_spreading_is_left_out_where_it_cannot_be_described(tmp_path: Path) -> None:
    for text in (CLOS.replace("spines = 4", "taper = 2.0"), '[generator]\nkind = "fat-tree"\nradix = 4\n'):
        assert list(made(text, tmp_path)) == [Routing.HASHED, Routing.BY_DESTINATION]


WORK = '[[work]]\nname = "x"\npattern = "aapc"\n'


def test_a_mix_names_the_routings_to_consider(tmp_path: Path) -> None:
    path = tmp_path / "mix.toml"
    for text, expected in (
        ("", tuple(Routing)),
        ('routing = "packets"\n', (Routing.PACKETS,)),
        ('routing = ["by destination", "hashed"]\n', (Routing.BY_DESTINATION, Routing.HASHED)),
    ):
        path.write_text(text + WORK, encoding="utf-8")
        assert mix.load(path).routing == expected
    for wrong in ('"ecmp"', "[]", "7", '["hashed", 7]'):
        path.write_text(f"routing = {wrong}\n{WORK}", encoding="utf-8")
        with pytest.raises(UsageError, match=r"mix\.toml:1: .*one or more of 'hashed', 'by destination'"):
            mix.load(path)
