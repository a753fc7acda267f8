"""`crosscut price` on the command line: real networks, real simulations, real files."""

from __future__ import annotations

import json
import math
import tomllib
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from browser import chromium

from crosscut.cli import main
from crosscut.network import description as network
from crosscut.pricing.plant import Plant, plant
from crosscut.pricing.resizing import RULES, resized

MIX = 'title = "All to all"\nranks = 16\n[[work]]\nname = "large"\npattern = "aapc"\nsize = "1MB"\n'

ER16, MAINTENANCE = "xibalba-er16", "xibalba-maintenance"


def priced(words: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main(["price", *words, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    try:
        status = main(["price", *words])
    except SystemExit as stop:
        status = int(str(stop.code))
    said = capsys.readouterr()
    assert status == 2
    assert "Traceback" not in said.err
    return said.err


def mix_file(folder: Path, text: str = MIX) -> str:
    path = folder / "mix.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


RESIZABLE = [
    name
    for name in network.catalogue_names()
    if (folder := network.catalogue())
    and (document := tomllib.loads((folder / f"{name}.toml").read_text(encoding="utf-8")))
    and document.get("generator", {}).get("kind") in RULES
    and not name.startswith(("fat-tree", "fatoohi-tc2k"))  # whose levels differ
]


@pytest.mark.parametrize("name", RESIZABLE)
def test_a_network_resized_to_its_own_size_costs_the_same(name: str, tmp_path: Path) -> None:
    """Resized to half, it is a valid description with that many hosts, and needs no more parts."""
    own = plant(name, None)
    again = tmp_path / f"{name}.toml"
    again.write_text(resized(Path(own.figures["file"]), own.nodes), encoding="utf-8")
    assert plant(str(again), None).wiring == own.wiring
    half = Plant(name, own.figures, own.nodes // 2)
    description = half.description(tmp_path)
    assert network.load(description).hosts >= half.nodes
    assert half.wiring.trunk_cables <= own.wiring.trunk_cables
    assert sum(half.wiring.switch_ports.values()) <= sum(own.wiring.switch_ports.values())


def test_a_network_too_large_to_list_is_priced_if_all_its_switches_are_full(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Three levels of k-port switches: k^3 / 4 hosts, 5 k^2 / 4 switches (Al-Fares et al., SIGCOMM 2008)."""
    lines = priced(["fat-tree-65536", "--book", "template"], capsys)["bills"][0]["lines"]
    counts = {line["part"]: line["count"] for line in lines}
    assert counts["switch, 64 ports"] == 5 * 64**2 // 4
    assert counts["optical cable, 20 m"] == 2 * 64**3 // 4
    small = plant("fat-tree-1024", None).wiring
    assert small.switch_ports == {16: 5 * 16**2 // 4}


def test_the_book_that_names_the_network_is_the_default(capsys: pytest.CaptureFixture[str]) -> None:
    found = priced(["xibalba-e7-config1", "bode-sci-64"], capsys)
    assert [bill["books"] for bill in found["bills"]] == [["kurmann-2003"], ["bode-2004"]]
    assert [bill["network_cost_per_node"] for bill in found["bills"]] == [[480, 480], [1095, 1165]]


def test_a_network_file_s_own_prices_count_if_no_book_knows_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        '[generator]\nkind = "crossbar"\nhosts = 8\nrate = "1 Gbit/s"\n'
        '[host]\nprice = "900 USD"\nadapter_price = "50 USD"\n[switch]\nprice = "400 USD"\n',
        encoding="utf-8",
    )  # fmt: skip
    bill = priced([str(path)], capsys)["bills"][0]
    assert bill["network_cost"] == [800, 800]
    assert bill["nodes_share"] == [0.9, 0.9]
    assert main(["price", str(path), "--nodes", "16"]) == 2
    assert "give a price book" in " ".join(capsys.readouterr().err.split())


def test_the_price_per_node_steps_up_when_the_template_s_switches_are_full(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["leaf-spine-100g-64", "--book", "template", "--nodes", "32,512,513,1024,1025"]
    bills = priced(words, capsys)["bills"]
    each = [bill["network_cost_per_node"][0] for bill in bills]
    assert each[2] > 1.05 * each[1]
    assert each[4] > 1.05 * each[3]
    switches = [sum(line["count"] for line in bill["lines"] if line["kind"] == "switch") for bill in bills]
    assert switches == [1, 16 + 8, 17 + 16, 32 + 16, 33 + 32]


def test_the_mix_is_simulated_and_the_answer_follows_from_the_networks(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """16 nodes of the chassis share no limit: the E7 is as fast as the ER16, for less."""
    words = ["xibalba-er16", "xibalba-e7-config2", "xibalba-maintenance", "--mix", mix_file(tmp_path)]
    found = priced(words, capsys)
    by_name = {one["network"]: one for one in found["candidates"]}
    er16, e7 = by_name["xibalba-er16"], by_name["xibalba-e7-config2"]
    assert er16["seconds"]["large"] == pytest.approx(e7["seconds"]["large"])
    low, high = er16["seconds"]["large"]
    assert high / low == pytest.approx(1.05)
    # 15 partners, a megabyte each, at 1460/1538 of 12.5 MB/s; the middle of the interval.
    assert (low * high) ** 0.5 == pytest.approx(15 * 1e6 / (12.5e6 * 1460 / 1538), rel=0.01)
    assert er16["on_the_front"] == "perhaps"  # dearer, and with any error it may be faster
    # One leaf of the maintenance network holds all 16, so it is as fast, and by far the cheapest.
    assert found["decided"]
    assert found["contenders"] == ["xibalba-maintenance"]
    assert found["sentence"].startswith(
        "For this mix xibalba-maintenance is the cheapest within 10 % of the best: "
    )


def leaf_and_spine(folder: Path, name: str, rate: int, price: int) -> str:
    """Four leaves of 8 hosts with full bisection."""
    path = folder / f"{name}.toml"
    path.write_text(
        f'[generator]\nkind = "clos"\nleaves = 4\nhosts_per_leaf = 8\nspines = 8\nrate = "{rate} Gbit/s"\n'
        f'[switch]\nport_price = "{price} EUR"\n',
        encoding="utf-8",
    )
    return str(path)


def test_the_answer_says_how_it_depends_on_routing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Hashed flows collide: a slow network with good routing is about as fast as a fast one without."""
    networks = [leaf_and_spine(tmp_path, *one) for one in (("slow", 100, 100), ("fast", 200, 900))]
    text = MIX.replace("ranks = 16", "ranks = 32")
    found = priced([*networks, "--mix", mix_file(tmp_path, text)], capsys)
    slow, fast = (one["times_the_best_by_routing"] for one in found["candidates"])
    for one in (slow, fast):
        assert one["packets"] == pytest.approx(one["by destination"])  # shifts do not collide
        assert one["hashed"][0] > 1.5 * one["packets"][1]
    assert slow["packets"][0] == pytest.approx(2 * fast["packets"][0])
    assert not found["decided"]
    each = found["contenders_by_routing"]
    assert each == {"hashed": ["fast"], "by destination": ["fast"], "packets": ["fast"]}
    assert found["sentence"].startswith("For this mix, if all networks spread traffic over equal paths alike")
    assert "But slow with paths chosen by destination" in found["sentence"]
    # Every host sends 31 MB at its own rate.
    alone = priced([*networks, "--mix", mix_file(tmp_path, 'routing = "packets"\n' + text)], capsys)
    low, high = alone["candidates"][0]["seconds"]["large"]
    assert (low * high) ** 0.5 == pytest.approx(31e6 / 12.5e9, rel=0.01)
    assert (alone["decided"], alone["contenders"]) == (True, ["fast"])


def test_times_that_are_given_do_not_depend_on_routing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    networks = [leaf_and_spine(tmp_path, *one) for one in (("slow", 100, 100), ("fast", 200, 900))]
    text = 'ranks = 32\n[[work]]\nname = "x"\nseconds = { slow = "2 s", fast = "1 s" }\n'
    found = priced([*networks, "--mix", mix_file(tmp_path, text)], capsys)
    assert found["contenders_by_routing"] == {}
    assert not any("hash" in line for line in found["conditions"])


def test_a_routing_that_a_network_cannot_be_described_with_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    tree = tmp_path / "tree.toml"
    generator = '[generator]\nkind = "fat-tree"\nradix = 8\nrate = "100 Gbit/s"\n'
    tree.write_text(generator + '[switch]\nport_price = "1 EUR"\n', encoding="utf-8")
    text = 'routing = "packets"\n' + MIX.replace("ranks = 16", "ranks = 128")
    other = tmp_path / "other.toml"
    other.write_text(tree.read_text(encoding="utf-8"), encoding="utf-8")
    said = refused([str(tree), str(other), "--mix", mix_file(tmp_path, text)], capsys)
    assert "mix.toml: routing: tree can only be described with 'hashed' or 'by destination'" in said


def test_networks_without_latency_are_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The catalogue's Xibalba networks have none, its InfiniBand has."""
    found = priced([ER16, MAINTENANCE, "--mix", mix_file(tmp_path)], capsys)
    said = f"no latency is given in the files of {ER16}, {MAINTENANCE}: short messages are too fast there"
    assert said in found["conditions"]
    fast = priced(["bode-infiniband-4x-64", ER16, "--mix", mix_file(tmp_path)], capsys)
    assert said.replace(f", {MAINTENANCE}", "") in fast["conditions"]


def test_a_larger_error_of_the_simulation_leaves_the_answer_open(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    text = 'simulation_error = "15%"\n' + MIX
    found = priced([ER16, "xibalba-e7-config2", "--mix", mix_file(tmp_path, text)], capsys)
    assert not found["decided"]
    assert set(found["contenders"]) == {ER16, "xibalba-e7-config2"}
    assert "undecided" in found["sentence"]


def traced(folder: Path, last: str = "finalize") -> None:
    for rank in range(32):
        what = f"send {rank + 16} 0 1000000" if rank < 16 else f"recv {rank - 16} 0 1000000"
        lines = ["init", "compute 1000000", what, last]
        (folder / f"{rank}.tit").write_text("".join(f"{rank} {line}\n" for line in lines), encoding="utf-8")
    (folder / "trace.txt").write_text("".join(f"{rank}.tit\n" for rank in range(32)), encoding="utf-8")


def middle(seconds: list[float]) -> float:
    return math.sqrt(seconds[0] * seconds[1])


def test_a_trace_is_replayed_on_each_candidate(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Each of 16 ranks sends to one of 16 others, in the maintenance network over its leaf's uplink."""
    traced(tmp_path)
    text = 'ranks = 32\n[[work]]\nname = "traced"\ntrace = "."\noperations_per_second = 1e9\n'
    found = priced([ER16, MAINTENANCE, "--mix", mix_file(tmp_path, text)], capsys)
    er16, maintenance = (one["seconds"]["traced"] for one in found["candidates"])
    payload = 12.5e6 * 1460 / 1538
    assert middle(er16) == pytest.approx(0.001 + 1e6 / payload, rel=0.01)
    assert middle(maintenance) == pytest.approx(0.001 + 16e6 / payload, rel=0.01)
    said = refused([ER16, MAINTENANCE, "--mix", mix_file(tmp_path, text.replace("32", "16"))], capsys)
    assert "write ranks = 32 at its top" in said
    said = refused([ER16, MAINTENANCE, "--mix", mix_file(tmp_path, text.replace("oper", "#oper"))], capsys)
    assert "operations_per_second" in said


def test_a_trace_alone_is_performance_without_simgrid(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")  # where smpirun is not
    traced(tmp_path)
    where = [ER16, MAINTENANCE, "--performance", str(tmp_path)]
    assert "operations_per_second" in refused(where, capsys)  # no profile next to it
    about = {"trace": {"file": "trace.txt", "flops_per_second": 2e9}}
    (tmp_path / "profile.json").write_text(json.dumps(about), encoding="utf-8")
    found = priced(where, capsys)
    assert (found["ranks"], found["title"]) == (32, tmp_path.name)
    assert f"For this mix {MAINTENANCE}" not in found["sentence"]  # sixteen times as long
    er16, maintenance = (one["seconds"][tmp_path.name] for one in found["candidates"])
    payload = 12.5e6 * 1460 / 1538
    assert middle(er16) == pytest.approx(0.0005 + 1e6 / payload, rel=0.01)
    assert middle(maintenance) == pytest.approx(0.0005 + 16e6 / payload, rel=0.01)
    assert "two" in refused([ER16, *where[2:]], capsys)
    assert "--nodes" in refused([*where, "--nodes", "32"], capsys)
    assert "a mix" in refused([*where, "--performance", f"{ER16}=hpl.json"], capsys)
    traced(tmp_path, last="wait")
    assert f"{tmp_path / '0.tit'}:4: " in refused(where, capsys)


def test_measured_runs_and_given_figures_count_like_simulated_ones(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    networks = ["xibalba-er16", "xibalba-maintenance"]
    for name in networks:
        out = str(tmp_path / f"{name}.zarr")
        assert (
            main(["run", "aapc", "--on", f"sim:{name}", "-n", "32", "--size", "1MB", "--out", out, "--quiet"])
            == 0
        )
    capsys.readouterr()
    text = 'ranks = 32\nsimulation_error = "0"\n[[work]]\nname = "sim"\npattern = "aapc"\nsize = "1MB"\n'
    text += '[[work]]\nname = "run"\nruns = { xibalba-er16 = "xibalba-er16.zarr", '
    text += 'xibalba-maintenance = "xibalba-maintenance.zarr" }\n'
    text += (
        '[[work]]\nname = "said"\nseconds = { xibalba-er16 = "1 s", xibalba-maintenance = ["2 s", "3 s"] }\n'
    )
    found = priced([*networks, "--mix", mix_file(tmp_path, text)], capsys)
    for one in found["candidates"]:
        assert one["seconds"]["run"] == pytest.approx(one["seconds"]["sim"])
    assert found["candidates"][1]["seconds"]["said"] == [2, 3]
    slow = found["candidates"][1]["times_the_best"]
    assert slow[1] / slow[0] == pytest.approx(1.5 ** (1 / 3))


@pytest.mark.parametrize("suffix", [".svg", ".html", ".png", ".pdf"])
def test_the_front_is_drawn_into_a_file_and_nothing_else_is_left(
    suffix: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = tmp_path / "out" / f"front{suffix}"
    out.parent.mkdir()
    words = ["price", "xibalba-er16", "xibalba-maintenance", "--mix", mix_file(tmp_path), "-o", str(out)]
    assert main(words) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert f"picture: {out}" in said
    assert [path.name for path in out.parent.iterdir()] == [out.name]
    if suffix in (".png", ".pdf"):
        assert out.read_bytes().startswith(b"\x89PNG" if suffix == ".png" else b"%PDF")
        return
    text = out.read_text(encoding="utf-8")
    drawing = ET.fromstring(text[text.index("<svg") : text.index("</svg>") + 6])
    shown = [element.text for element in drawing.iter() if element.tag.endswith("text")]
    assert {"xibalba-er16", "xibalba-maintenance"} <= set(shown)
    assert "price of the network and nodes for 16 ranks, USD" in shown
    assert main(words) == 2
    assert "--force replaces it" in capsys.readouterr().err
    assert main([*words, "--force"]) == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "required: NETWORK"),
        (["no-such-network"], "no-such-network"),
        (["xibalba-er16", "--book", "no-such-book"], "there is no price book 'no-such-book'"),
        (["xibalba-er16", "--nodes", "0"], "numbers of nodes"),
        (["xibalba-er16", "--node-price", "cheap"], "is not a price"),
        (["xibalba-er16", "--node-price", "9 EUR"], "the network's prices are in USD"),
        (["xibalba-er16", "-o", "x.gif"], ".svg, .png, .pdf or .html"),
        (["xibalba-er16", "-o", "/no/such/folder/x.svg"], "does not exist"),
        (["xibalba-er16", "--mix", "/no/such/mix.toml"], "mix.toml: there is no such file"),
    ],
)
def test_bad_input_is_one_sentence(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert said in refused(words, capsys)


@pytest.mark.parametrize(
    ("networks", "text", "said"),
    [
        ([ER16], MIX, "name at least two"),
        ([ER16, "fat-tree-1024"], MIX, "fat-tree-1024 with 16 nodes in place of 1,024"),
        ([ER16, "leaf-spine-100g-64"], MIX, "give --book"),
        ([ER16, MAINTENANCE], MIX.replace("aapc", "aapcc"), "mix.toml:3: 'large': "),
        ([ER16, MAINTENANCE], MIX + "parameters = { stride = 3 }\n", "mix.toml:3: 'large': "),
        ([ER16, MAINTENANCE], '[[work]]\nname = "x"\nseconds = { xibalba-er16 = "1 s" }\n',
         "mix.toml:1: 'x' has nothing for xibalba-maintenance"),
        ([ER16, MAINTENANCE], '[[work]]\nname = "x"\nruns = { xibalba-er16 = "x.zarr" }\n',
         "x.zarr"),
        ([ER16, MAINTENANCE], '[[work]]\nname = "x"\ntrace = "nothing"\n', "nothing"),
    ],
)  # fmt: skip
def test_the_reason_why_a_mix_cannot_be_judged_is_reported(
    networks: list[str], text: str, said: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert said in refused([*networks, "--mix", mix_file(tmp_path, text)], capsys)


def test_the_page_of_the_front_needs_no_network_and_fits_a_small_screen(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """In a real browser: no labels overlap, nothing is requested, and nothing is wider than the screen."""
    text = 'ranks = 48\n[[work]]\nname = "by <hand>"\nseconds = { '
    names = [
        name for name in network.catalogue_names() if name.startswith("bode-") and not name.endswith("-2")
    ]
    text += ", ".join(f'{name} = "{100 + 7 * at} s"' for at, name in enumerate(names)) + " }\n"
    out = tmp_path / "front.html"
    assert main(["price", *names, "--mix", mix_file(tmp_path, text), "-o", str(out)]) == 0
    capsys.readouterr()
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 420, "height": 900})
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(out.as_uri())
        assert asked == [out.as_uri()]
        assert page.evaluate("document.documentElement.scrollWidth") <= 420
        assert "by <hand>" in page.inner_text("table")
        page.set_viewport_size({"width": 1200, "height": 900})
        boxes = page.evaluate(
            "names => [...document.querySelectorAll('svg text')].filter(t => names.includes(t.textContent))"
            ".map(t => t.getBoundingClientRect()).map(b => [b.left, b.top, b.right, b.bottom])",
            names,
        )
    assert len(boxes) == len(names)
    for at, a in enumerate(boxes):
        assert all(a[0] >= b[2] or b[0] >= a[2] or a[1] >= b[3] or b[1] >= a[3] for b in boxes[at + 1 :])
