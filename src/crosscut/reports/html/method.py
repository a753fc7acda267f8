"""The section on method: what a reader needs to judge the figures or to repeat the measurement."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

import numpy as np

from crosscut.analysis.figures.cautions import Caution
from crosscut.base import units
from crosscut.reports.html.markup import Child, Markup, element, join, table
from crosscut.reports.view import View, dig, items, number, text
from crosscut.reports.words import about

MOST_NODES = 200


def cautions(found: Sequence[Caution]) -> Markup:
    entries = [
        element(
            "li",
            caution.text,
            element("span", f" ({caution.advice})", class_="advice") if caution.advice else None,
        )
        for caution in found
    ]
    if not entries:
        return Markup("")
    return element(
        "aside", element("h4", "Before you rely on these figures"), element("ul", entries), class_="cautions"
    )


def section(view: View) -> Markup:
    command = shlex.join(map(str, items(view.attributes, "command_line")))
    rows: list[tuple[str, Child]] = [
        ("measured", about.what(view)),
        ("where", about.where(view)),
        ("when", about.when(view)),
        ("how", "; ".join(about.how(view))),
        ("planted", "; ".join(about.planted(view))),
        ("pattern", text(view.attributes, "pattern", "summary")),
        ("rate by the formula", _formula(view)),
        ("sizes", ", ".join(units.size(size) for size in view.sizes_bytes)),
        ("backend", _parameters(view)),
        ("TCP", _tcp(view)),
        ("crosscut", text(view.attributes, "crosscut")),
        ("command", element("code", command) if command else ""),
        ("run", element("code", str(view.path))),
    ]
    shown = [join(element("dt", name), element("dd", value)) for name, value in rows if value]
    return join(element("dl", shown), _nodes(view))


def _formula(view: View) -> str:
    formula = text(view.attributes, "pattern", "formula")
    per, source = (text(view.attributes, "pattern", key) for key in ("formula_per", "source"))
    return f"{formula}, per {per or 'rank'}" + (f" ({source})" if source else "") if formula else ""


def _parameters(view: View) -> str:
    name = text(view.attributes, "backend", "name")
    given = dig(view.attributes, "backend", "parameters")
    words = (
        [f"{key} {value}" for key, value in given.items() if str(value)] if isinstance(given, dict) else []
    )
    return f"{name}: {', '.join(words)}" if words else name


def _tcp(view: View) -> str:
    settings = dig(view.attributes, "tcp")
    if not isinstance(settings, dict):
        return ""
    known = {key: " ".join(str(value).split()) for key, value in settings.items()}
    return ", ".join(f"{key} {value}" for key, value in known.items() if value)


def _nodes(view: View) -> Markup:
    """Returns a table of the machines, empty for simulated hosts, which have no kernel."""
    nodes = [(at, node) for at, node in enumerate(items(view.attributes, "nodes")) if text(node, "kernel")]
    if not nodes:
        return Markup("")
    counts = np.bincount(view.rank_nodes, minlength=len(view.nodes))
    rows = [
        (
            view.nodes[index],
            f"{int(counts[index]):,}" if index < len(counts) else "–",
            f"{cores:.0f}" if np.isfinite(cores := number(node, "cores")) else "–",
            text(node, "kernel"),
            "; ".join(_adapter(adapter) for adapter in items(node, "adapters")),
        )
        for index, node in nodes[:MOST_NODES]
    ]
    rest = f" (the first {MOST_NODES} of {len(nodes):,})" if len(nodes) > MOST_NODES else ""
    return table(
        ("node", "ranks", "cores", "kernel", "adapters"), rows,
        words=frozenset({0, 3, 4}), caption=f"Nodes{rest}", dash="the run does not say",
    )  # fmt: skip


def _adapter(adapter: object) -> str:
    speed, mtu = number(adapter, "speed_mbit_s"), number(adapter, "mtu")
    words = [text(adapter, "name"), text(adapter, "address")]
    if text(adapter, "driver") == "veth":
        words.append("virtual")  # the rate that it reports is not that of its traffic
    elif np.isfinite(speed):
        words.append(units.bit_rate(speed * 1e6))
    words += [f"MTU {mtu:.0f}"] if np.isfinite(mtu) else []
    return " ".join(word for word in words if word)
