"""Runs, specs and texts without node names, safe to hand to a vendor.

A redacted run keeps only listed attributes, and every node name in them is replaced by a number. The list is
an allowlist, so an attribute that a later version adds is left out until it is reviewed here.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TypeVar

from crosscut.analysis.compare.comparing import Comparison
from crosscut.analysis.compare.conditions import UntoldError
from crosscut.analysis.compare.promises import Checked, PromiseVerdict
from crosscut.analysis.compare.spec import Promise, Spec
from crosscut.analysis.compare.worse_nodes import WorseNodes
from crosscut.analysis.findings.model import Finding
from crosscut.analysis.structure.model import Structure
from crosscut.base.node_names import node_names
from crosscut.reports.view import View, items
from crosscut.run.run import Run

# Written by crosscut itself and kept verbatim, so that a node called `ring` does not alter them.
_KEPT = (
    "schema", "crosscut", "state", "start", "end", "place", "cadence", "sync", "clock", "wait", "effort",
    "peers", "window", "rails", "cache", "noise", "summaries", "slots",
)  # fmt: skip
_SEARCHED = ("tcp", "phase_labels", "counters_before", "counters_after", "trust")
# Other members are dropped: a job holds its output path and metadata, networks and labs hold names.
_KEPT_OF = {
    "job": ("pattern", "backend", "sizes", "repetitions", "interval", "seed", "sync", "compute", "verify"),
    "pattern": ("name", "summary", "formula", "formula_per", "source", "shape", "findings", "latency"),
    "backend": ("name",),
    "network": ("kind", "hosts", "switches", "ranks_per_host"),
    "lab": ("switch", "dilation", "mtu_bytes"),
    "imported": ("program", "repetition", "hosts_named"),
}  # fmt: skip
_SEARCHED_OF = ("parameters", "lacks")
_KEPT_OF_NODE = ("kernel", "cores", "numa_nodes", "rank_cores", "far_ranks", "congestion_control")
_KEPT_OF_ADAPTER = ("name", "speed_mbit_s", "mtu", "duplex", "driver", "offloads", "near_cores")
_REDACTED = "(redacted)"
# Characters of a usual host name. Any other name is searched for literally.
_WORD = re.compile(r"\w[\w.-]*\w|\w")
_BETWEEN_PARTS = re.compile("([-._])")
_NODES_NAMED = 8

AnyRun = TypeVar("AnyRun", bound=Run)


@dataclass(frozen=True)
class Aliases:
    """Maps each node name to one alias, such as `node 7`, used throughout."""

    of: Mapping[str, str]
    short: Mapping[str, str] = field(default_factory=dict)
    """Aliases by host name without its domain."""
    odd: tuple[str, ...] = ()
    """Names that `_WORD` does not match, longest first."""
    paths: Mapping[str, str] = field(default_factory=dict)
    """Aliases of run folders, whose paths may contain names."""

    def node(self, name: object) -> str:
        """Returns the alias of exactly this name, or an empty string if no run has it."""
        return self.of.get(str(name), "")

    def text(self, words: str) -> str:
        """Replaces every node name in `words`, with or without its domain, with the alias."""
        for path, shown in self.paths.items():
            words = words.replace(path, shown)
        for name in self.odd:
            words = words.replace(name, self.of[name])
        return _WORD.sub(lambda found: self._word(found[0]), words)

    def _word(self, word: str) -> str:
        """Replaces names within a word (`n003-before`): the longest at each part, with its domain if any."""
        parts = _BETWEEN_PARTS.split(word)
        shown, start = "", 0
        while start < len(parts):
            for end in range(len(parts), start, -2):
                name = "".join(parts[start:end])
                alias = self.of.get(name) or self.short.get(name)
                if alias and not name.isdigit():  # a node called 5 would turn every figure into its alias
                    more = "".join(parts[end:])
                    return shown + alias + ("" if more.startswith(".") else self._more(more))
            shown += "".join(parts[start : start + 2])
            start += 2
        return shown

    def _more(self, words: str) -> str:
        return words[:1] + self._word(words[1:]) if words else ""

    def value(self, of: object) -> object:
        """Redacts a JSON value recursively, including its keys."""
        if isinstance(of, str):
            return self.text(of)
        if isinstance(of, Mapping):
            return {self.text(str(key)): self.value(member) for key, member in of.items()}
        return [self.value(member) for member in of] if isinstance(of, list | tuple) else of


def aliases(runs: Iterable[Run]) -> Aliases:
    """Numbers the nodes by rank, starting with the run that has the most ranks."""
    ordered = sorted(runs, key=lambda run: -run.ranks)
    found: dict[str, str] = {}
    for run in ordered:
        for name in (*run.node_names, *node_names(run.attributes.get("nodes"))):
            if name not in ("", "?") and name not in found:
                found[name] = f"node {len(found) + 1}"
    odd = sorted((name for name in found if not _WORD.fullmatch(name)), key=len, reverse=True)
    return Aliases(
        of=found,
        short={name.partition(".")[0]: alias for name, alias in found.items() if "." in name},
        odd=tuple(odd),
        paths={str(run.path): f"run {at}" for at, run in enumerate(ordered, 1) if len(run.path.parts) > 1},
    )


def run(of: AnyRun, known: Aliases) -> AnyRun:
    dataset = of.dataset.copy(deep=False)
    dataset.attrs = dict(attributes(of.attributes, known))
    path = of.path.absolute()
    return replace(of, path=Path((known.text(path.stem) or "run") + path.suffix), dataset=dataset)


def views(of: Sequence[View], known: Aliases) -> list[View]:
    """Redacts views. Folders may contain names, so only file names are kept; duplicates get a number."""
    found: list[View] = []
    taken: set[str] = set()
    for one in of:
        shown = run(one, known)
        stem = shown.path.stem
        names = itertools.chain([shown.path.name], (f"{stem}-{at}.zarr" for at in itertools.count(2)))
        name = next(name for name in names if name not in taken)
        taken.add(name)
        found.append(replace(shown, path=Path(name)))
    return found


def attributes(of: Mapping[str, object], known: Aliases) -> dict[str, object]:
    found = {key: of[key] for key in _KEPT if key in of}
    found |= _kept(of, _SEARCHED, known)
    for key, members in _KEPT_OF.items():
        if isinstance(table := of.get(key), Mapping):
            kept = {name: table[name] for name in members if name in table}
            kept |= {name: known.value(table[name]) for name in _SEARCHED_OF if name in table}
            found[key] = kept | ({"name": _REDACTED} if key == "network" else {})
    found["nodes"] = _nodes(of.get("nodes"), known)
    told: dict[str, Callable[[Mapping[str, object]], object]] = {
        "faults": lambda entry: _kept(entry, ("id", "says"), known),
        # A reason may contain addresses.
        "failed_ranks": lambda entry: {
            "rank": entry.get("rank"), "node": known.node(entry.get("node")), "reason": _REDACTED
        },
        "resumed": lambda entry: {
            **_kept(entry, ("start", "stopped", "forced"), known), "differences": _REDACTED
        },
    }  # fmt: skip
    for key, entry_of in told.items():
        if isinstance(of.get(key), list):
            found[key] = [entry_of(entry) for entry in _objects(of, key)]
    return found


def _kept(of: Mapping[str, object], members: Sequence[str], known: Aliases) -> dict[str, object]:
    """Returns the listed members with node names replaced."""
    return {key: known.value(of[key]) for key in members if key in of}


def _objects(of: Mapping[str, object], name: str) -> list[Mapping[str, object]]:
    """Returns the entries of list `name` that are objects."""
    return [entry for entry in items(of, name) if isinstance(entry, Mapping)]


def _nodes(of: object, known: Aliases) -> list[object]:
    entries = of if isinstance(of, list) else [{} for _ in node_names(of)]
    found: list[object] = []
    for entry, name in zip(entries, node_names(of), strict=True):
        shown: dict[str, object] = {"name": known.node(name)}
        if isinstance(entry, Mapping):
            shown |= _kept(entry, _KEPT_OF_NODE, known)
            adapters = _objects(entry, "adapters")
            shown["adapters"] = [_kept(adapter, _KEPT_OF_ADAPTER, known) for adapter in adapters]
        found.append(shown)
    return found


def spec(of: Spec, known: Aliases) -> Spec:
    """Redacts a spec. Its text is kept for its digest only; a redacted protocol does not show it."""
    promises = tuple(_promise(promise, known) for promise in of.promises)
    return replace(of, path=Path("spec.toml"), title=known.text(of.title), promises=promises)


def _promise(of: Promise, known: Aliases) -> Promise:
    chosen = sorted(
        {alias for name, alias in known.of.items() if any(fnmatchcase(name, one) for one in of.nodes)},
        key=lambda alias: int(alias.partition(" ")[2]),
    )
    if len(chosen) > _NODES_NAMED:
        chosen = [f"{len(chosen)} chosen nodes"]
    return replace(of, name=known.text(of.name), nodes=tuple(chosen))


def judged(of: Sequence[PromiseVerdict], known: Aliases) -> tuple[PromiseVerdict, ...]:
    return tuple(
        replace(one, promise=_promise(one.promise, known), reason=known.text(one.reason)) for one in of
    )


def check(of: Spec, checked: Checked) -> tuple[Spec, Checked]:
    """Redacts a spec and its verdicts before any reporter sees them."""
    known = aliases(checked.runs)
    runs = tuple(run(one, known) for one in checked.runs)
    return spec(of, known), Checked(judged(checked.judged, known), runs)


def comparison(of: Comparison, known: Aliases) -> Comparison:
    notes, conditions = (tuple(map(known.text, told)) for told in (of.notes, of.conditions))
    return replace(of, notes=notes, conditions=conditions)


def untold(of: UntoldError, known: Aliases) -> UntoldError:
    found = UntoldError("", tuple(map(known.text, of.conditions)))
    found.args = (known.text(str(of)),)
    return found


def worse_nodes(of: WorseNodes, known: Aliases) -> WorseNodes:
    return WorseNodes(*(
        tuple((known.node(node) or "?", why) for node, why in nodes) for nodes in (of.faulty, of.others)
    ))  # fmt: skip


def finding(of: Finding, known: Aliases) -> Finding:
    return replace(
        of, what=known.text(of.what), advice=known.text(of.advice), hosts=tuple(map(known.text, of.hosts))
    )


def structure(of: Structure | None, known: Aliases) -> Structure | None:
    if of is None:
        return None
    notes = tuple(map(known.text, of.notes))
    return replace(of, hosts=tuple(map(known.text, of.hosts)), notes=notes)
