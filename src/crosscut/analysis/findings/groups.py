"""Finds which ranks of a run share a switch, from the network's description or from the measurement."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from crosscut.analysis.figures.route_class import NO_GROUPS, Groups
from crosscut.base.errors import CrosscutError
from crosscut.network import description
from crosscut.run.run import Run

# The time to infer groups grows with the number of routes.
MOST_RANKS_INFERRED = 512


def groups_of(run: Run) -> Groups:
    described = run.attributes.get("network")
    text = described.get("description") if isinstance(described, dict) else None
    if isinstance(text, str) and (found := _described(run, text)).known:
        return found
    return _inferred(run) if run.ranks <= MOST_RANKS_INFERRED else NO_GROUPS


def _described(run: Run, text: str) -> Groups:
    with tempfile.TemporaryDirectory(prefix="crosscut-network-") as folder:
        file = Path(folder) / "network.toml"
        file.write_text(text, encoding="utf-8")
        try:
            graph = description.load(str(file), graph=True).graph
        except CrosscutError:  # from an older crosscut, or damaged; the run itself is still good
            return NO_GROUPS
    if graph is None:
        return NO_GROUPS
    of_host = {v.name: v.group for v in graph.vertices[: graph.hosts] if v.group is not None}
    labels = [of_host.get(name, -1) for name in run.node_names]
    return Groups(np.array(labels, np.int64), graph.group_word or "group", "the network's description")


def _inferred(run: Run) -> Groups:
    from crosscut.analysis.findings import of_run

    structure = of_run.look(run)[1] if not run.phase_summarised else None
    if structure is None or not structure.groups:
        return NO_GROUPS
    return Groups(np.array(structure.labels(), np.int64), "group", "what the first run shows")
