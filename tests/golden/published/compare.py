"""Compares published with simulated figures: `make published` writes docs/reference/published.md.

Every figure is predicted by plain max-min sharing of the capacities in the network file, unless its row says
`fit`: then a parameter of the file was taken from that very figure. The knee (docs/reference/simulator.md) is
off; a column shows it for the pairwise rows, on which alone it is calibrated.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from crosscut.base import core
from crosscut.network import description
from crosscut.reproduce import experiment
from crosscut.reproduce.experiment import Series
from crosscut.reproduce.quantities import UNITS
from crosscut.run.run import Run

HERE = Path(__file__).parent
MEBIBYTE = 1 << 20
KNEE = (10.0, 0.985)
"""(p, scale) calibrated on the pairwise rows of Kurmann's table 3 alone: see best_knee."""
PLAIN = (0.0, 1.0)
LARGEST_KNEE_ERROR = 0.08


@dataclass(frozen=True)
class Row:
    source: str
    what: str
    unit: str
    published: float
    simulated: float
    kind: str = "prediction"
    """`fit` if a parameter was taken from this figure; the aim is for `pairwise` rows."""
    note: str = ""
    knee: float | None = None
    """Simulated with the knee, if it applies."""
    in_aim: bool = True

    @property
    def error(self) -> float:
        return abs(self.simulated - self.published) / abs(self.published)

    @property
    def knee_error(self) -> float:
        assert self.knee is not None
        return abs(self.knee - self.published) / abs(self.published)


def figures(name: str) -> dict[str, Any]:
    return tomllib.loads((HERE / f"{name}.toml").read_text(encoding="utf-8"))


def simulate(
    net: str, words: Sequence[str], *, ranks: int, message: int, knee: tuple[float, float] = PLAIN
) -> Run:
    """Returns a run on a simulated network; its folder has been removed."""
    with tempfile.TemporaryDirectory(prefix="crosscut-published-") as folder:
        out = Path(folder) / "run.zarr"
        command = [
            str(core.load().executable), "run", *words, "-n", str(ranks), "--backend", "sim",
            "--network", net,
            "--size", str(message), "--knee", str(knee[0]), "--knee-scale", str(knee[1]), "--out", str(out),
        ]  # fmt: skip
        done = subprocess.run(
            command, capture_output=True, text=True, env=description.environment(), check=False
        )
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr or done.stdout[-400:]}")
        run = Run.open(out)
        run.dataset.load()
        return run


def series(name: str) -> tuple[Series, ...]:
    return experiment.read(experiment.find(name)).series


def words_of(one: Series) -> list[str]:
    given = one.parameters | one.simulator
    return [one.pattern, *(word for key, value in given.items() for word in (f"--{key}", value))]


def pair_rate(one: Series, pairs: int, knee: tuple[float, float] = PLAIN) -> float:
    """Returns MiB/s per node and direction, the median over the pairs' messages. Phase p has p pairs."""
    words = [*words_of(one), "--phases", str(pairs)]
    run = simulate(one.network, words, ranks=one.ranks, message=one.messages[0], knee=knee)
    return float(one.quantity.of(run, 0)[0]) / UNITS[one.unit]


def kurmann_pairwise() -> Iterator[Row]:
    for one in series("kurmann-tables-3-5"):
        for pairs, rate in zip(one.phases, one.published, strict=True):
            outside = pairs in one.outside_the_aim
            yield Row(
                f"Kurmann, {one.where}",
                f"{one.network}, {one.name.removesuffix(', ER16')}, {pairs} pairs",
                "MiB/s", rate, pair_rate(one, pairs), "pairwise",
                (one.note or "contradicts the limit of its neighbours") if outside else "",
                pair_rate(one, pairs, KNEE), not outside,
            )  # fmt: skip


def kurmann_aapc() -> Iterator[Row]:
    for one in (*series("kurmann-table-4"), *series("kurmann-table-4-pairs")):
        run = simulate(one.network, words_of(one), ranks=one.ranks, message=one.messages[0])
        value = float(one.quantity.of(run, 0)[0]) / UNITS[one.unit]
        yield Row(
            f"Kurmann, {one.where}",
            f"AAPC on {Path(one.network).stem}, {one.ranks} nodes, {one.quantity_name}",
            one.unit, one.published[0], value,
            note="" if "capacity" in one.note else one.note,
        )  # fmt: skip


def described(text: str) -> dict[str, Any]:
    """Returns the figures of a network given as text."""
    with tempfile.TemporaryDirectory(prefix="crosscut-published-") as folder:
        file = Path(folder) / "network.toml"
        file.write_text(text, encoding="utf-8")
        answer: dict[str, Any] = json.loads(description.ask("show", str(file), "--json").stdout)
        return answer


def salmon() -> Iterator[Row]:
    """Yields the results of Salmon's formulas, and counts on the graph itself."""
    data = figures("salmon1998")
    for case in data["meta_node"]:
        count, ports, wires = case["meta_nodes"], case["ports"], case["wires"]
        shown = described(
            f'[generator]\nkind = "meta-node"\nmeta_nodes = {count}\nports = {ports}\nwires = {wires}\n'
            'rate = "100 Mbit/s"\n'
        )
        further = {figure["name"]: figure["value"] for figure in shown["further"]}
        name = f"{count} meta-nodes of {ports} ports, {wires} wires a node"
        formulas = {
            "edge_weight": ports * wires / (count - 1),
            "bisection_per_node": (wires / 4) * (count / (count - 1)),
            "max_meta_nodes": ports * wires + 1,
            "max_nodes": ports * (ports * wires + 1),
        }
        for figure, value in formulas.items():
            yield Row("Salmon, section 2", f"{name}: {figure}", "", value, further[figure])
    for case in data["tree"]:
        leaves, ports, uplinks = case["leaves"], case["ports"], case["uplinks"]
        shown = described(
            f'[generator]\nkind = "stacked-tree"\nleaves = {leaves}\nhosts_per_leaf = {ports}\n'
            f'uplinks = {uplinks}\nrate = "100 Mbit/s"\n'
        )
        per_node = shown["bisection"]["per_host_of_half_bits_per_second"] / 100e6
        name = f"tree of {leaves} leaves of {ports} ports, {uplinks} uplinks: links per node of a half"
        yield Row("Salmon, section 2", name, "", uplinks / ports, per_node)


def bode() -> Iterator[Row]:
    for one in series("bode-peaks"):
        run = simulate(one.network, words_of(one), ranks=2, message=one.messages[0])
        rate = float(one.quantity.of(run, 0)[0]) / UNITS[one.unit]
        kind = "fit" if one.fitted else "prediction"
        yield Row(f"Bode, {one.where}", f"{one.name}: peak between two nodes", "Mbit/s",
                  one.published[0], rate, kind, one.note)  # fmt: skip


def best_knee() -> tuple[float, float]:
    """Returns the (p, scale) of smallest mean error over table 3, of those with a worst error within the aim.

    Uses only the formula, with link and share of the network file. A test compares KNEE with it.
    """
    cases = [one for one in series("kurmann-tables-3-5") if one.where == "table 3"]
    link = pair_rate(cases[0], 1)
    # Links that fill the limit, over the flows of each pair that pass it in one direction.
    links = {"within an ASIC": 16 / 2, "ASIC to ASIC of a module": 16, "module to module": 8}
    rows = [
        (links[one.name] / pairs * link, rate)
        for one in cases
        for pairs, rate in zip(one.phases, one.published, strict=True)
        if pairs not in one.outside_the_aim
    ]
    share, rate = np.array(rows).T

    def errors(p: float, scale: float) -> np.ndarray:
        found = (link**-p + (scale * share) ** -p) ** (-1 / p)
        return np.asarray(abs(found - rate) / rate)

    grid = [(float(p), float(c)) for p in np.arange(3, 30.5, 0.5) for c in np.arange(0.95, 1.0501, 0.005)]
    able = [knee for knee in grid if errors(*knee).max() <= LARGEST_KNEE_ERROR]
    return min(able, key=lambda knee: float(errors(*knee).mean()))


def all_rows() -> list[Row]:
    return [*kurmann_pairwise(), *kurmann_aapc(), *salmon(), *bode()]


def _number(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def table(rows: Sequence[Row]) -> str:
    """Markdown."""
    lines = ["| source | figure | unit | published | simulated | error | with the knee | kind |",
             "| --- | --- | --- | ---: | ---: | ---: | ---: | --- |"]  # fmt: skip
    for row in rows:
        knee = "" if row.knee is None else f"{_number(row.knee)} ({row.knee_error:.1%})"
        kind = row.kind + (f"; {row.note}" if row.note else "")
        lines.append(
            f"| {row.source} | {row.what} | {row.unit} | {_number(row.published)} | {_number(row.simulated)} "
            f"| {row.error:.1%} | {knee} | {kind} |"
        )
    return "\n".join([*lines, "", *summary(rows)]) + "\n"


def summary(rows: Sequence[Row]) -> Iterator[str]:
    pairwise = [row for row in rows if row.kind == "pairwise" and row.in_aim]
    if pairwise:
        plain = [row.error for row in pairwise]
        kneed = [row.knee_error for row in pairwise]
        yield (
            f"Pairwise rows within the aim ({len(pairwise)}): plain max-min is off by {np.mean(plain):.1%} "
            f"on average, {max(plain):.1%} at worst; with the knee (p = {KNEE[0]:g}, scale "
            f"{KNEE[1]:g}) by {np.mean(kneed):.1%} and {max(kneed):.1%}: a fit of two parameters "
            "to these very rows."
        )
    predicted = [row for row in rows if row.kind == "prediction" and not row.source.startswith("Salmon")]
    if predicted:
        errors = [row.error for row in predicted]
        yield (
            f"Other predictions ({len(predicted)}): off by {np.mean(errors):.1%} on average, "
            f"{max(errors):.1%} at worst."
        )


PAGE = HERE.parents[2] / "docs" / "reference" / "published.md"


if __name__ == "__main__":
    text = table(all_rows())
    sys.stdout.write(text)
    before, after = (
        (HERE / f"{name}.md").read_text(encoding="utf-8") for name in ("introduction", "remarks")
    )
    PAGE.write_text(before + text + "\n" + after, encoding="utf-8")
