"""The report's page: its first sentence, its script policy, and hostile names."""

import base64
import dataclasses
import hashlib
import html
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from made_runs import aapc_view, pingpong_view
from stored_run import make_run

from crosscut import cli
from crosscut.analysis.figures.digest import digest
from crosscut.analysis.findings import model as findings
from crosscut.analysis.findings import of_run as find
from crosscut.analysis.findings.kinds import FindingKind
from crosscut.analysis.findings.model import P_MEANS, Effect, Finding
from crosscut.base.errors import UsageError
from crosscut.reports.html import assets, story
from crosscut.reports.html.page import Found, distinct_names, render
from crosscut.reports.html.pictures.picture import RunAtSize

HOSTILE = "</script><script>document.title='owned'</script><b onmouseover=x>&lt;"


class Page(HTMLParser):
    """Elements in order with their attributes, and the text of scripts and of the heading."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.inside: list[str] = []
        self.heading = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.inside.append(tag)
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        while self.inside and self.inside.pop() != tag:
            pass

    def handle_data(self, data):
        if self.inside and self.inside[-1] == "script":
            self.scripts[-1] += data
        elif self.inside and self.inside[-1] == "h1":
            self.heading += data

    def named(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def data(self):
        kinds = [attributes.get("type") for attributes in self.named("script")]
        return json.loads(self.scripts[kinds.index("application/json")])

    @property
    def pictures(self):
        return self.data["pictures"]


def at(view, path):
    return dataclasses.replace(view, path=Path(path))


def test_every_figure_has_its_picture_and_names_are_unique():
    page = Page(render([at(aapc_view(), "a.zarr"), at(aapc_view(slow_route=(0, 1)), "b.zarr")]))
    figures = [figure["id"] for figure in page.named("figure")]
    assert figures
    assert len(set(figures)) == len(figures)
    assert set(figures) == set(page.pictures)
    ids = {attributes["id"] for _, attributes in page.elements if "id" in attributes}
    links = [link["href"] for link in page.named("a")]
    assert all(link.removeprefix("#") in ids for link in links), links


@pytest.mark.parametrize("pattern", ["congestor", "streams", "loaded-pingpong"])
def test_runs_that_cannot_be_overlaid_have_no_link_to_an_overlay(pattern):
    views = [pingpong_view(), pingpong_view()]
    attributes = {"pattern": {"name": pattern}}
    views = [
        dataclasses.replace(view, path=Path(name), dataset=view.dataset.assign_attrs(attributes))
        for view, name in zip(views, ("a.zarr", "b.zarr"), strict=True)
    ]
    page = Page(render(views))
    ids = {attributes["id"] for _, attributes in page.elements if "id" in attributes}
    assert {link["href"].removeprefix("#") for link in page.named("a")} <= ids


def test_nothing_is_loaded_from_anywhere():
    text = render([aapc_view()])
    page = Page(text)
    for tag, attributes in page.elements:
        assert tag not in ("link", "iframe", "object", "embed", "base", "img")
        assert "src" not in attributes
    policy = next(meta["content"] for meta in page.named("meta") if "http-equiv" in meta)
    assert policy.startswith("default-src 'none'; script-src 'sha256-")


def test_the_policy_permits_only_the_page_s_own_scripts():
    page = Page(render([aapc_view()]))
    policy = next(meta["content"] for meta in page.named("meta") if "http-equiv" in meta)
    allowed = set(re.findall(r"'sha256-([^']+)'", policy))
    run = {
        base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        for script, attributes in zip(page.scripts, page.named("script"), strict=True)
        if attributes.get("type") != "application/json"
    }
    assert run == allowed
    assert "unsafe-inline" not in policy.split("script-src")[1].split(";")[0]


def test_hostile_names_of_nodes_attributes_and_files_stay_text():
    nodes = [{"name": HOSTILE, "kernel": HOSTILE, "adapters": [{"name": HOSTILE}]}] * 4
    pattern = {"name": HOSTILE, "summary": HOSTILE, "formula": HOSTILE, "source": HOSTILE}
    hostile = {
        "nodes": nodes, "pattern": pattern, "phase_labels": [HOSTILE] * 3, "command_line": [HOSTILE],
        "tcp": {HOSTILE: HOSTILE}, "state": HOSTILE, "start": HOSTILE, "cadence": HOSTILE, "place": HOSTILE,
        "backend": {"name": HOSTILE, "parameters": {HOSTILE: HOSTILE}}, "crosscut": HOSTILE,
        "failed_ranks": [{"rank": HOSTILE, "node": HOSTILE, "reason": HOSTILE}],
    }  # fmt: skip
    plain = Page(render([aapc_view()]))
    page = Page(render([at(aapc_view(attributes=hostile), HOSTILE.replace("/", "|") + ".zarr")]))
    assert len(page.named("script")) == len(plain.named("script"))
    assert not page.named("b")
    assert page.scripts[1:] == plain.scripts[1:]
    assert page.pictures["run1-routes"]["more"]["nodes"][0] == HOSTILE


def test_a_finding_heads_the_page_with_its_doubt_and_its_proof():
    found = Found((
        Finding(FindingKind.SLOW_ROUTE, "The route n001 → n003 runs at half rate.",
                effect=Effect(0.5, 0.48, 0.52), false_alarm=0.05, advice="check the cable"),
        Finding(FindingKind.SLOW_HOST, "n1 is slow.", false_alarm=1e-9),
        Finding(FindingKind.GROUPS, "Two groups.", false_alarm=0.5),
    ))  # fmt: skip
    view = aapc_view()
    text = render([view], found={view.path: found})
    page = Page(text)
    assert page.heading == "The route n001 → n003 runs at half rate."
    assert "50 % [48 – 52 %] of the ordinary rate · p = 5.0 % · Check the cable." in text
    assert "p < 1 %" in text.replace("&lt;", "<")
    assert text.count(P_MEANS) == 1
    assert "50 %" not in text[text.index("Two groups.") :][:200]
    assert "#run1-routes" in [link["href"] for link in page.named("a") if link.get("class") == "proof"]


def test_planted_faults_are_named_in_the_head_and_with_the_method():
    fault = {"id": "f1", "says": "the cable of n001 carries 40 % of its rate"}
    text = render([aapc_view(attributes={"faults": [fault]})])
    assert text.replace("\u00a0", " ").count("f1: the cable of n001 carries 40 % of its rate") >= 2


def told(view):
    """The sentences of the page's head, the verdict first."""
    one = RunAtSize("", view, digest(view.dataset, 1))
    return [each.text for each in story.told(find.find(view), one, ["the figures"])]


def test_the_verdict_heads_the_page_before_any_figure():
    alike, slow_phase = aapc_view(ranks=6, repetitions=10), aapc_view(ranks=6, repetitions=10)
    slow_phase.dataset["rank_seconds"][:, :, 2] *= 4
    slow_phase.dataset["message_seconds"][:, :, 2] *= 4
    assert told(alike)[0].startswith("Nothing stands out")
    groups = Finding(FindingKind.GROUPS, "two groups")
    one = RunAtSize("", alike, digest(alike.dataset, 1))
    assert [each.text for each in story.told([groups], one, [])][::2] == [story.UNLIKE, "Two groups."]
    meant = [
        Page(render([alike], found={alike.path: Found(found)})).named("h1")[0].get("class")
        for found in (
            [Finding(FindingKind.NOTHING, "nothing stands out: all alike")],
            [Finding(FindingKind.NOTHING, "no cause found")], [groups],
            [Finding(FindingKind.SLOW_HOST, "n1 is slow")], [Finding(FindingKind.INCONCLUSIVE, "too few")],
            [],
        )
    ]  # fmt: skip
    assert meant == ["sound", "unknown", "limit", "fault", "unknown", None]


def test_the_head_says_how_far_the_phases_fall_short():
    view = aapc_view(ranks=6, repetitions=10)
    view.dataset["rank_seconds"][:, :, 2] *= 4
    (said,) = (one for one in told(view) if one.startswith("1 of 5 phases is significantly slower"))
    assert "than the fastest phase, down to 25 % of its rate" in said
    assert said.endswith("in phase 3.")


def test_differences_within_noise_are_not_called_a_shortfall():
    view = aapc_view(ranks=4, repetitions=8)
    view.dataset["rank_seconds"][:] = 0.01 * np.array([2, 1, 3, 1.3, 2.7, 1.6, 2.4, 2])[None, :, None, None]
    view.dataset["rank_seconds"][:, :, 1] *= 1.3
    assert any(one.startswith("No phase is significantly slower") for one in told(view))


def test_a_long_finding_heads_the_page_with_its_first_clause():
    cause = "n5 receives at 40 % of the rate of the other hosts"
    more = (
        "it sends at 71 % meanwhile, probably as a consequence: acknowledgements wait behind what it receives"
    )
    assert story.headline(f"{cause}; {more}.") == (f"{cause}.", f"I{more[1:]}.")
    assert story.headline(f"{cause}; 5 times.") == (f"{cause}; 5 times.", "")
    unfinished = f"a limit ({cause}; {more})."
    assert story.headline(unfinished) == (unfinished, "")


def test_equal_phases_are_called_alike():
    assert told(aapc_view(repetitions=1))[1].startswith("All 3 phases run at the same rate, 100 MB/s")


def test_equal_phases_that_a_slow_host_slows_are_not_called_even():
    view = aapc_view(ranks=6, repetitions=10)
    view.dataset["message_seconds"][:, :, :, 2] *= 3
    view.dataset["rank_seconds"][:, :, :, 2] *= 3
    said = story.told([], RunAtSize("", view, digest(view.dataset, 1)), [])[0].text
    assert "each is as slow as its slowest message, and its fastest reaches" in said
    assert "% of the fastest" not in said


def test_cautions_are_those_of_the_terminal():
    text = html.unescape(render([aapc_view(repetitions=2)]))
    assert "fewer than 6 repetitions of some phases at 1 KB and 1 MB: no 95 % interval" in text


def test_a_ping_pong_is_drawn_as_its_sweep_and_tabled_by_size():
    page = Page(render([pingpong_view()]))
    assert list(page.pictures) == ["run1-sweep-rate", "run1-sweep-time"]
    assert page.heading.replace("\u00a0", " ").startswith("Latency 10.00 µs")


def test_a_size_that_the_run_lacks_is_refused_with_its_sizes():
    with pytest.raises(UsageError, match="has no size 5 KB; it has 1 KB, 1 MB"):
        render([aapc_view()], size_bytes=5000)
    page = Page(render([aapc_view()], size_bytes=1000))
    assert "1 KB" in page.pictures["run1-phases"]["caption"]


def test_a_run_without_measurements_is_refused():
    view = aapc_view()
    view.dataset["status"][:] = 0
    with pytest.raises(UsageError, match="nothing is measured yet"):
        render([view])


def test_runs_of_the_same_name_are_distinguished_by_more_of_their_path():
    views = [at(aapc_view(), "/x/monday/aapc.zarr"), at(aapc_view(), "/x/tuesday/aapc.zarr")]
    assert distinct_names(views) == ["monday/aapc", "tuesday/aapc"]
    with pytest.raises(UsageError, match="named twice"):
        distinct_names([views[0], views[0]])


def test_runs_whose_names_differ_only_in_the_suffix_are_distinguished_by_it():
    views = [at(aapc_view(), "/x/aapc"), at(aapc_view(), "/x/aapc.zarr")]
    assert distinct_names(views) == ["/x/aapc", "/x/aapc.zarr"]


def test_a_run_without_pictures_has_a_section_that_says_so():
    view = pingpong_view([1000])
    pairs = view.dataset.assign_attrs(pattern={"name": "pairs"})
    text = render([dataclasses.replace(view, dataset=pairs)])
    page = Page(text)
    assert not page.pictures
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(set(ids)) == len(ids)
    assert "There is too little to draw; the tables have the figures." in text
    assert next(link["href"] for link in page.named("a") if link.get("class") == "skip") == "#run1"


def test_a_node_s_properties_stand_next_to_its_name():
    nodes = [{"name": "a"}, {"name": "b", "kernel": "6.1", "cores": 8}, {"name": "c"}, {"name": "d"}]
    text = render([aapc_view(attributes={"nodes": nodes})])
    row = next(row for row in re.findall(r"<tr>.*?</tr>", text) if ">6.1<" in row)
    assert re.findall(r">([^<]+)<", row) == ["b", "1", "8", "6.1"]


def test_no_asset_contains_the_end_tag_of_its_element():
    for name in (*assets.LIBRARIES, *assets.MODULES, "page.css"):
        assert assets.read(name)
    joined = assets.joined_modules()
    assert not re.search(r"^(?:import|export) ", joined, re.MULTILINE)
    names = re.findall(r"^(?:async )?(?:function\*?|const|class) ([A-Za-z_]\w*)", joined, re.MULTILINE)
    assert len(names) == len(set(names)), "two modules use one name"


def test_libraries_have_their_licences_beside_them():
    vendor = Path(assets.__file__).parent / "assets" / "vendor"
    for script in vendor.glob("*.js"):
        assert "Copyright" in (vendor / f"{script.name.split('-')[0]}.LICENSE").read_text(encoding="utf-8")


def test_the_command_writes_a_page_and_replaces_one_only_on_request(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = make_run(tmp_path / "made.zarr")
    assert cli.main(["report", str(run)]) == 0
    assert (tmp_path / "made.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert "wrote made.html" in capsys.readouterr().out
    assert cli.main(["report", str(run)]) == 2
    assert "made.html exists; --force replaces it" in capsys.readouterr().err
    assert cli.main(["report", str(run), "--force"]) == 0
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_unreadable_and_unwritable_files_are_reported_without_a_traceback(tmp_path, capsys):
    run = make_run(tmp_path / "made.zarr")
    assert cli.main(["report", str(run), str(run)]) == 2
    assert "-o FILE.html" in capsys.readouterr().err
    assert cli.main(["report", str(run), "-o", str(tmp_path / "no" / "page.html")]) == 2
    assert "does not exist; make it" in capsys.readouterr().err
    assert cli.main(["report", str(run), "-o", str(tmp_path)]) == 2
    assert "this is a folder; name a file in it" in capsys.readouterr().err
    (tmp_path / "f.json").write_text('{"schema": 3}')
    assert (
        cli.main(["report", str(run), "-o", str(tmp_path / "p.html"), "--located", str(tmp_path / "f.json")])
        == 2
    )
    assert "f.json: not a crosscut-findings document of version" in capsys.readouterr().err


def test_findings_that_name_hosts_of_another_run_are_refused(tmp_path, capsys):
    run = make_run(tmp_path / "made.zarr")
    document = findings.as_json([Finding(FindingKind.SLOW_HOST, "x9 is slow.", ranks=(1,), hosts=("x9",))])
    (tmp_path / "f.json").write_text(json.dumps(document))
    words = ["report", str(run), "-o", str(tmp_path / "p.html"), "--located", str(tmp_path / "f.json")]
    assert cli.main(words) == 2
    assert "findings of another run: they name x9" in capsys.readouterr().err


@pytest.mark.parametrize(("network", "status"), [("0" * 64, 2), (7, 2), (None, 0)])
def test_findings_of_another_network_are_refused_though_its_hosts_have_the_same_names(
    tmp_path, capsys, network, status
):
    run = make_run(tmp_path / "made.zarr")
    metadata = json.loads((run / "zarr.json").read_text())
    metadata["attributes"]["network"] = {"description": "[network]"}
    (run / "zarr.json").write_text(json.dumps(metadata))
    document = findings.as_json([Finding(FindingKind.SLOW_HOST, "n1 is slow.", ranks=(1,))])
    (tmp_path / "f.json").write_text(json.dumps(document | {"network": network}))
    words = ["report", str(run), "-o", str(tmp_path / "p.html"), "--located", str(tmp_path / "f.json")]
    assert cli.main(words) == status
    assert ("findings of another network than that of" in capsys.readouterr().err) == (status == 2)


def test_findings_of_a_file_begin_the_page(tmp_path):
    run = make_run(tmp_path / "made.zarr")
    document = findings.as_json([Finding(FindingKind.SLOW_HOST, "n1 is slow.", ranks=(2, 3))])
    (tmp_path / "f.json").write_text(json.dumps(document))
    out = tmp_path / "p.html"
    assert cli.main(["report", str(run), "-o", str(out), "--located", str(tmp_path / "f.json")]) == 0
    assert Page(out.read_text(encoding="utf-8")).heading == "n1 is slow."


def test_runs_that_warn_head_the_page_of_several_the_worst_first():
    views = [dataclasses.replace(aapc_view(repetitions=8), path=Path(f"{name}.zarr")) for name in "abc"]
    found = {
        Path("b.zarr"): Found([Finding(FindingKind.SUSPECT, "n1 may be slow")]),
        Path("c.zarr"): Found([Finding(FindingKind.SLOW_HOST, "n2 sends at 50 % of the rate of others")]),
    }
    page = render(views, found=found).replace("\u00a0", " ")
    assert Page(page).heading == "2 of 3 runs raise warnings: c, b."
    assert page.index("n2 sends at") < page.index("n1 may be slow") < page.index("Nothing stands out")
    assert Page(render(views)).heading.replace("\u00a0", " ") == "Nothing stands out in any of 3 runs."


def test_a_page_of_two_runs_says_what_changed_between_them():
    before, after = (
        at(aapc_view(repetitions=8), "a.zarr"),
        at(aapc_view(repetitions=8, seconds=0.02), "b.zarr"),
    )
    said = changed_between(before, after)
    assert "What changed from a to b" in said
    assert "changes for the worse, 0 for the better. Median route between nodes: −50 %" in said
    assert "for the worse, 0 for the better" not in changed_between(after, before)
    assert "Nothing changed by 3.0 % or more beyond the noise." in changed_between(
        before, at(before, "c.zarr")
    )


def test_what_changed_is_told_from_the_earlier_run_to_the_later_in_whatever_order_they_are_named():
    days = ("2026-11-28T00:00:00Z", "2026-11-29T00:00:00")
    before, after = (
        dataclasses.replace(view, dataset=view.dataset.assign_attrs({**view.attributes, "start": day}))
        for view, day in zip(
            (at(aapc_view(repetitions=8), "a.zarr"), at(aapc_view(repetitions=8, seconds=0.02), "b.zarr")),
            days, strict=True,
        )
    )  # fmt: skip
    assert "What changed from a to b" in changed_between(after, before)


def test_runs_that_may_not_be_compared_have_no_section_on_what_changed():
    other = at(aapc_view(ranks=6, repetitions=8), "b.zarr")
    assert 'id="changes"' not in render([at(aapc_view(repetitions=8), "a.zarr"), other])


def changed_between(first, second):
    page = render([first, second]).replace("\u00a0", " ")
    return page[page.index('id="changes"') : page.index('id="together"')]


def test_runs_without_a_common_picture_are_compared_in_a_table_whose_links_hit():
    views = [at(aapc_view(repetitions=8), "a.zarr"), at(pingpong_view(), "b.zarr")]
    text = render(views)
    together = text[text.index('id="together"') : text.index('id="run1"')]
    rows = re.findall(r"<tr>(.*?)</tr>", together)
    assert [re.findall(r'href="(#\w+)"', row) for row in rows[1:]] == [["#run1"], ["#run2"]]
    assert "median phase" in rows[0]
    assert "10.0 µs" in rows[2]
    assert "#together" in [link["href"] for link in Page(text).named("a")]
    heading = Page(text).heading.replace("\u00a0", " ")
    assert heading == "No fault stands out in 1 run; the others look for none."


def test_runs_of_one_host_are_not_said_to_show_no_fault():
    alone = {"nodes": [{"name": "n0"}]}
    views = [at(aapc_view(repetitions=8, attributes=alone), f"{name}.zarr") for name in "ab"]
    for view in views:
        view.dataset["node"][:] = 0
    heading = Page(render(views)).heading.replace("\u00a0", " ")
    assert heading == "None of 2 runs tells anything about the network."
