"""Redacted outputs have no names of nodes, wherever a run, a spec or a sentence has them."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from changed_runs import aapc
from made_runs import aapc_view

from crosscut.analysis.compare import spec
from crosscut.analysis.compare.promises import verdicts
from crosscut.analysis.compare.spec import Promise
from crosscut.analysis.findings import of_run
from crosscut.analysis.findings.kinds import FindingKind
from crosscut.analysis.findings.model import Finding
from crosscut.reports import junit, protocol, redaction
from crosscut.reports.html import page, write
from crosscut.reports.json import check as json_check
from crosscut.reports.redaction import Aliases
from crosscut.reports.view import View
from crosscut.run.run import Run

HOSTS = ("gpu-01.example.org", "gpu-02.example.org", "10.1.2.3", "7", "odd name", "ring", "node 1", "x9")


def telltale() -> Run:
    """A run that names its nodes and its place in every possible member."""
    run = aapc(1, repetitions=20, out={2: 0.5})
    nodes = [
        {"name": name, "id": f"id-{name}", "kernel": f"6.1 on {name}", "cores": 4,
         "adapters": [{"name": "eth0", "address": "192.168.7.7", "mac": "aa:bb:cc:dd:ee:ff", "mtu": 9000}]}
        for name in HOSTS
    ]  # fmt: skip
    counted = {name: {"eth0": {"rx_crc_errors": 0}} for name in HOSTS}
    attributes = {
        **run.attributes,
        "nodes": nodes, "command_line": ["crosscut", "run", "--on", "hosts:secret.txt"], "place": "hosts",
        "counters_before": counted,
        "counters_after": counted | {HOSTS[1]: {"eth0": {"rx_crc_errors": 900}}},
        "phase_labels": [f"after {HOSTS[0]}"] * 7,
        "failed_ranks": [{"rank": 3, "node": HOSTS[3], "reason": "192.168.7.7 went away"}],
        "resumed": [{"forced": True, "differences": f"nodes: {HOSTS[0]}", "nodes": nodes}],
        "network": {"name": "secret", "title": "secret", "hosts": 8, "switches": 1, "description": "secret"},
        "faults": [{"id": "f1", "nodes": [HOSTS[1]], "says": f"nothing gets to {HOSTS[1]}"}],
        "whatever_comes_later": HOSTS[0],
    }  # fmt: skip
    dataset = run.dataset.assign_attrs(attributes)
    return Run(Path("/home/secret/gpu-02-before.zarr"), dataset)


SECRET = ("gpu", "example.org", "10.1.2.3", "192.168", "aa:bb", "odd name", "x9", "secret")
SPEC = (
    'title = "Acceptance of gpu-01"\n[[promise]]\nname = "x9 and all"\nkind = "route"\nat_least = "90 MB/s"\n'
    'size = "1MB"\nnodes = ["gpu-*", "x9"]\n'
)


def leaks(text: str) -> list[str]:
    return [word for word in SECRET if word in text]


def test_a_redacted_run_names_neither_nodes_nor_places():
    run = telltale()
    shown = redaction.run(run, redaction.aliases([run]))
    assert leaks(json.dumps(shown.attributes)) == []
    assert shown.node_names == tuple(f"node {number}" for number in range(1, 9))
    assert shown.path.name == "node 2-before.zarr"
    assert shown.attributes["nodes"][2]["adapters"] == [{"name": "eth0", "mtu": 9000}]
    assert leaks(json.dumps(run.attributes)) == list(SECRET)  # the run itself is unchanged


def test_a_node_named_like_a_word_of_the_program_changes_no_fact():
    run = aapc(1)
    run.dataset.attrs["nodes"] = [{"name": name} for name in ("aapc", "tcp", "hosts", "barrier", *"abcd")]
    shown = redaction.run(run, redaction.aliases([run])).attributes
    assert (shown["pattern"]["name"], shown["backend"], shown["place"]) == ("aapc", {"name": "tcp"}, "hosts")
    assert shown["sync"] == run.attributes["sync"]


def test_no_output_of_check_names_a_node():
    promised = spec.parse(SPEC, Path("spec.toml"))
    checked = verdicts(promised, [telltale()])
    promised, checked = redaction.check(promised, checked)
    names = of_run.rank_names(checked.runs[0])
    outputs = (
        protocol.page(promised, checked, names, redact=True),
        junit.document(promised, checked.judged, names),
        json.dumps(json_check.document(promised, checked.judged, names)),
    )
    assert [leaks(text) for text in outputs] == [[], [], []]
    assert all("node 3" in text for text in outputs)
    assert promised.promises[0].nodes == ("node 1", "node 2", "node 8")


def test_no_part_of_a_redacted_page_names_a_node(tmp_path, monkeypatch):
    run = telltale()
    monkeypatch.setattr(View, "open", lambda _: View.of(run))
    spec_file, out = tmp_path / "spec.toml", tmp_path / "out.html"
    spec_file.write_text(SPEC, encoding="utf-8")
    found = page.Found([Finding(FindingKind.SLOW_HOST, f"{HOSTS[1]} sends at half", hosts=(HOSTS[1],))])
    for given in ({run.path: found}, None):
        write.write([run.path], out, spec=spec_file, found=given, redact=True, overwrite=True)
        text = out.read_text(encoding="utf-8")
        assert leaks(text) == []
        assert "node 3" in text
    write.write([run.path], out, spec=spec_file, overwrite=True)
    assert "gpu-01.example.org" in out.read_text(encoding="utf-8")


def test_files_of_one_name_in_several_folders_are_distinguished():
    views = [dataclasses.replace(aapc_view(), path=Path(f"/{folder}/aapc.zarr")) for folder in "ab"]
    shown = redaction.views(views, Aliases({}))
    assert [view.path.name for view in shown] == ["aapc.zarr", "aapc-2.zarr"]
    views = [
        dataclasses.replace(aapc_view(), path=Path(path))
        for path in ("/z/a-2.zarr", "/x/a.zarr", "/y/a.zarr")
    ]
    assert [view.path.name for view in redaction.views(views, Aliases({}))] == [
        "a-2.zarr",
        "a.zarr",
        "a-3.zarr",
    ]


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("n1 to n12 at 1 %", "node 1 to node 2 at 1 %"),
        ("n1.example.org:5 is gone", "node 1:5 is gone"),
        ("n1-n12, n123", "node 1-node 2, n123"),
        ("of 5 hosts", "of 5 hosts"),
        ("log.n1.txt.", "log.node 1."),
    ],
)
def test_names_are_found_only_as_whole_words(words, shown):
    assert Aliases({"n1": "node 1", "n12": "node 2", "5": "node 3"}).text(words) == shown


def test_several_runs_number_nodes_alike_by_the_largest_run():
    few, many = aapc(1, ranks=4), aapc(2, ranks=8)
    few.dataset.attrs["nodes"] = [{"name": f"n00{rank}"} for rank in (7, 6, 5, 4)]
    known = redaction.aliases([few, many])
    assert redaction.run(few, known).node_names == ("node 8", "node 7", "node 6", "node 5")


def test_many_chosen_nodes_are_counted():
    promise = Promise(
        name="p", kind=spec.PromiseKind.ROUTE, pattern="aapc", size_bytes=1, bound=1.0, nodes=("n*",)
    )
    known = Aliases({f"n{number}": f"node {number + 1}" for number in range(30)})
    of = spec.Spec(title="t", promises=(promise,))
    assert redaction.spec(of, known).promises[0].nodes == ("30 chosen nodes",)
