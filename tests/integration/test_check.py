"""`compare`, `check` and `expect` on simulated and real ranks: exit statuses, files, and hosts named."""

from __future__ import annotations

import json
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from crosscut import cli

ROOT = Path(__file__).parents[2]
NETWORK = """
[[hosts]]
names = "n[0-7]"
[[switches]]
names = "leaf"
[[links]]
between = ["n[0-6]", "leaf"]
rate = "100 Mbit/s"
[[links]]
between = ["n7", "leaf"]
rate = "{}"
"""


@pytest.fixture
def healthy(tmp_path):
    return network(tmp_path, "healthy", "100 Mbit/s")


@pytest.fixture
def faulty(tmp_path):
    return network(tmp_path, "faulty", "50 Mbit/s")


def network(folder: Path, name: str, rate: str) -> str:
    (folder / f"{name}.toml").write_text(NETWORK.format(rate), encoding="utf-8")
    return f"sim:{folder / name}.toml"


def crosscut(capsys: pytest.CaptureFixture[str], status: int, *words: object) -> str:
    found = cli.main([str(word) for word in words])
    said = capsys.readouterr()
    assert found == status, said.err + said.out
    return said.out


def aapc(capsys, place: str, out: Path) -> Path:
    crosscut(
        capsys,
        0,
        "run",
        "aapc",
        "--on",
        place,
        "--size",
        "100KB",
        "--repetitions",
        12,
        "--out",
        out,
        "--quiet",
    )
    return out


def spec(folder: Path, bound: str) -> Path:
    file = folder / "spec.toml"
    file.write_text(
        'title = "Acceptance"\n[[promise]]\nname = "routes"\nkind = "route"\nsize = "100KB"\n'
        f'at_least = "{bound}"\n'
        '[[promise]]\nname = "latency"\nkind = "latency"\nat_most = "1 ms"\n',
        encoding="utf-8",
    )
    return file


def test_compare_names_the_host_whose_link_was_halved(tmp_path, capsys, healthy, faulty):
    before, after = aapc(capsys, healthy, tmp_path / "b.zarr"), aapc(capsys, faulty, tmp_path / "a.zarr")
    found = json.loads(crosscut(capsys, 1, "compare", before, after, "--json"))
    news = [c for c in found["changes"] if c["explained_by"] is None]
    assert {(c["kind"], *c["nodes"]) for c in news} == {("node, out", "n7"), ("node, in", "n7")}
    assert all(c["ratio"] == pytest.approx(0.5, abs=0.01) for c in news)
    crosscut(capsys, 0, "compare", after, before)
    assert "Nothing changed" in crosscut(capsys, 0, "compare", before, before)


def test_check_measures_until_decided_and_writes_every_output(tmp_path, capsys, healthy):
    said = crosscut(
        capsys,
        0,
        "check",
        spec(tmp_path, "11 MB/s"),
        "--on",
        healthy,
        "--quiet",
        "--json",
        "--keep",
        tmp_path / "runs",
        "--junit",
        tmp_path / "check.xml",
        "--protocol",
        tmp_path / "protocol.html",
    )
    assert [promise["verdict"] for promise in json.loads(said)["promises"]] == ["pass", "pass"]
    suite = ET.parse(tmp_path / "check.xml").getroot().find("testsuite")
    assert suite is not None
    assert suite.get("failures") == "0"
    assert "Accepted: All promises are kept" in (tmp_path / "protocol.html").read_text(encoding="utf-8")
    # Judging the kept runs again gives the same verdict.
    crosscut(capsys, 0, "check", tmp_path / "spec.toml", *sorted((tmp_path / "runs").iterdir()))


def test_check_fails_a_cluster_with_one_slow_host_and_redacts_its_name(tmp_path, capsys, faulty):
    page = tmp_path / "vendor.html"
    out = crosscut(
        capsys,
        1,
        "check",
        spec(tmp_path, "11 MB/s"),
        "--on",
        faulty,
        "--quiet",
        "--protocol",
        page,
        "--redact",
    )
    text = page.read_text(encoding="utf-8")
    assert "Not accepted" in text
    assert "node 8" in text
    assert "n7" not in text + out


def test_verdicts_become_a_page_for_the_vendor_without_host_names(tmp_path, capsys):
    file = tmp_path / "zebra.toml"
    file.write_text(NETWORK.format("50 Mbit/s").replace('"n', '"zebra'), encoding="utf-8")
    runs, page, junit = tmp_path / "zebra-runs", tmp_path / "vendor.html", tmp_path / "check.xml"
    promised = spec(tmp_path, "11 MB/s")
    promised.write_text(promised.read_text().replace('"routes"', '"routes to zebra3"'), encoding="utf-8")
    said = crosscut(
        capsys, 1, "check", promised, "--on", f"sim:{file}", "--quiet", "--json", "--redact", "--keep", runs,
        "--junit", junit, "--protocol", tmp_path / "vendor.html",
    )  # fmt: skip
    assert "zebra" not in said + junit.read_text() + page.read_text()
    (tmp_path / "check.json").write_text(said, encoding="utf-8")
    kept = sorted(runs.iterdir())
    words = ("report", *kept, "--verdicts", tmp_path / "check.json", "--redact", "-o", page, "--force")
    crosscut(capsys, 0, *words)
    text = page.read_text(encoding="utf-8")
    assert "zebra" not in text
    assert "Not accepted: 1 of 2 promises broken" in text
    assert "routes to node 4" in text
    crosscut(capsys, 0, "report", *kept, "--spec", promised, "-o", page, "--force")
    assert "zebra7" in page.read_text(encoding="utf-8")


def test_check_is_undecided_if_too_few_repetitions_are_left(tmp_path, capsys):
    words = ("--on", "local", "-n", 2, "--quiet", "--most-repetitions", 2)
    crosscut(capsys, 3, "check", spec(tmp_path, "1 kB/s"), *words)


def test_one_repetition_decides_what_is_computed(tmp_path, capsys, healthy):
    words = ("--on", healthy, "--quiet", "--most-repetitions", 1)
    said = crosscut(capsys, 0, "check", spec(tmp_path, "11 MB/s"), *words)
    assert "wrongly called" not in said


def test_quick_prints_how_to_drain_the_slow_node(tmp_path, capsys, healthy, faulty):
    baseline = aapc(capsys, healthy, tmp_path / "good.zarr")
    said = crosscut(capsys, 1, "check", "--quick", "--baseline", baseline, "--on", faulty, "--quiet")
    assert [line for line in said.splitlines() if "scontrol" in line] == [
        "scontrol update nodename=n7 state=drain reason='crosscut: sends at 50 % of the baseline'"
    ]
    assert "no node is worse" in crosscut(
        capsys, 0, "check", "--quick", "--baseline", baseline, "--on", healthy, "--quiet"
    )


def test_quick_drains_no_node_that_only_shares_a_trunk_with_the_slow_one(tmp_path, capsys):
    """A slow node and a slow trunk slow sound nodes too."""
    faults = (ROOT / "docs" / "images" / "two-faults.toml").read_text(encoding="utf-8")
    slow_node = faults.replace("2 Gbit/s", "4 Gbit/s")
    places = []
    for name, text in (
        ("sound", slow_node.replace("500 Mbit/s", "1 Gbit/s")),
        ("slow", slow_node),
        ("both", faults),
    ):
        (tmp_path / f"{name}.toml").write_text(text, encoding="utf-8")
        places.append(f"sim:{tmp_path / name}.toml")
    baseline = aapc(capsys, places[0], tmp_path / "good.zarr")
    words = ("check", "--quick", "--baseline", baseline, "--quiet", "--json", "--on")
    for place in places[1:]:
        found = json.loads(crosscut(capsys, 1, *words, place))
        assert [entry["node"] for entry in found["drain"]] == ["n14"]
        assert len(found["worse"]) > 3


def test_quick_measures_a_first_look_and_keeps_its_runs(tmp_path, capsys, healthy, faulty):
    baseline = aapc(capsys, healthy, tmp_path / "good.zarr")
    words = ("check", "--quick", "--baseline", baseline, "--quiet", "--json")
    kept = ("--keep", tmp_path / "kept")
    found = json.loads(crosscut(capsys, 1, *words, "--on", faulty, *kept))
    assert [entry["node"] for entry in found["drain"]] == ["n7"]
    assert sorted(run.name for run in (tmp_path / "kept").iterdir()) == ["first-look.zarr", "quick.zarr"]


def test_check_judges_real_ranks_over_tcp(quick_path, capsys):
    file = quick_path / "spec.toml"
    file.write_text(
        '[[promise]]\nkind = "latency"\nat_most = "100 ms"\n'
        '[[promise]]\nkind = "route"\nsize = "1KB"\nat_least = "1 KB/s"\n',
        encoding="utf-8",
    )
    crosscut(capsys, 0, "check", file, "-n", 2, "--quiet", "--time-limit", "60s")


def test_a_protocol_is_printed_as_pdf_by_chromium(tmp_path, capsys, healthy):
    if not any(map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))):
        pytest.skip("needs Chromium: apt-get install chromium")
    pdf = tmp_path / "protocol.pdf"
    crosscut(capsys, 0, "check", spec(tmp_path, "11 MB/s"), "--on", healthy, "--quiet", "--protocol", pdf)
    assert pdf.read_bytes().startswith(b"%PDF-")
    assert b"/Count 1\n" in pdf.read_bytes()  # a page


def test_wrong_usage_ends_with_two_and_no_traceback(tmp_path, capsys, healthy):
    run = aapc(capsys, healthy, tmp_path / "run.zarr")
    for words in (
        ["compare", run],
        ["compare", run, run, "--error-rate", "0"],
        ["check"],
        ["check", tmp_path / "none.toml", run],
        ["check", spec(tmp_path, "11 MB"), run],
        ["check", tmp_path / "spec.toml", run, "--protocol", tmp_path / "protocol.docx"],
        ["report", run, "--verdicts", tmp_path / "spec.toml"],
        ["report", run, "--redact", "--cabling", tmp_path / "none.csv"],
        ["check", "--quick"],
        ["expect", "--adapter", "none"],
    ):
        crosscut(capsys, 2, *words)


def test_expect_agrees_with_the_simulator_within_seven_per_cent(tmp_path, capsys, healthy):
    run = aapc(capsys, healthy, tmp_path / "run.zarr")
    file = healthy.removeprefix("sim:")
    said = json.loads(
        crosscut(capsys, 0, "expect", "--speed", "10 Gbit/s", "--network", file, "--run", run, "--json")
    )
    assert said["limit"] == "the switch's port"
    assert all(one["share"] == pytest.approx(1, abs=0.07) for one in said["measured"])
