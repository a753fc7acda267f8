"""Verdicts on the page: one per promise, with links to the pictures that prove it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from crosscut.analysis.compare.promises import PromiseVerdict
from crosscut.analysis.compare.spec import Promise, PromiseKind, Spec
from crosscut.base import units
from crosscut.base.spelling import tied
from crosscut.reports.html.markup import Markup, element
from crosscut.reports.html.pictures.picture import Picture, RunAtSize, link
from crosscut.reports.words import check as words_check

# Pictures that prove a promise of each kind, best first.
_PROOFS: dict[PromiseKind, tuple[str, ...]] = {
    PromiseKind.BISECTION: ("phases", "phase-histogram"),
    PromiseKind.PHASE: ("phases", "phase-histogram"),
    PromiseKind.ROUTE: ("routes", "route-histogram"),
    PromiseKind.NODE: ("routes", "ranks"),
    PromiseKind.LATENCY: ("sweep-time", "routes"),
    PromiseKind.SPREAD: ("route-histogram", "curve"),
}
# Kinds of promises whose bound each picture shows as a line.
_LINES: dict[str, tuple[PromiseKind, ...]] = {
    "phases": (PromiseKind.PHASE, PromiseKind.BISECTION), "sweep-time": (PromiseKind.LATENCY,),
    "route-histogram": (PromiseKind.ROUTE,), "curve": (PromiseKind.ROUTE,),
    "phase-histogram": (PromiseKind.PHASE, PromiseKind.BISECTION),
}  # fmt: skip
# In widths of a histogram. A bound farther away would shrink the bars to nothing.
_WIDTHS_AWAY = 8


@dataclass(frozen=True)
class SpecJudgement:
    spec: Spec
    judged: tuple[PromiseVerdict, ...]
    names: tuple[str, ...]
    """[rank] Names in the run with the most ranks."""
    measured_by: Mapping[str, Path] = field(default_factory=dict)
    """The run that measured a promise, by the promise's name."""

    def promises(self, path: Path) -> list[Promise]:
        """Returns the promises that the run at `path` measured."""
        return [one.promise for one in self.judged if self.measured_by.get(one.promise.name) == path]


def section(judgement: SpecJudgement, pictures: Mapping[Path, Sequence[Picture]]) -> Markup:
    """Returns the section of verdicts, broken promises first. `pictures`: by run."""
    ordered = sorted(judgement.judged, key=lambda one: words_check.WORST_FIRST.index(one.verdict))
    return element(
        "section",
        element("h2", judgement.spec.title),
        element("ol", [_entry(one, judgement, pictures) for one in ordered], class_="findings verdicts"),
        element(
            "p",
            "The probability that any promise is wrongly called kept or broken is at most "
            f"{units.percent(judgement.spec.error_rate)}, if repetitions are independent.",
            class_="doubt",
        ),
        id="verdicts",
    )


def _entry(
    one: PromiseVerdict, judgement: SpecJudgement, pictures: Mapping[Path, Sequence[Picture]]
) -> Markup:
    promise, names = one.promise, judgement.names
    measured = one.reason or f"measured {words_check.measured(one, names)}"
    said = words_check.notes(one, names)
    if chance := words_check.at_most(one):
        said.append(f"error probability: {chance}")
    there = pictures.get(judgement.measured_by.get(promise.name, Path()), ())
    return element(
        "li",
        element(
            "p", element("span", words_check.SIGNS[one.verdict], class_="verdict"), " ",
            element("strong", promise.name), tied(f": promised {promise.said}; {measured}."),
        ),
        element("p", tied(words_check.what(promise)), class_="doubt"),
        element("p", tied(" · ".join(said)), class_="doubt") if said else None,
        _links(promise, there),
        class_=one.verdict.value,
    )  # fmt: skip


def _links(promise: Promise, pictures: Sequence[Picture]) -> Markup | None:
    links = [
        (link(picture, data_size=str(promise.size_bytes)), " ")
        for ending in _PROOFS[promise.kind]
        for picture in pictures
        if _ending(picture) == ending
    ]
    return element("p", *links) if links else None


def _ending(picture: Picture) -> str:
    return picture.name.partition("-")[2]


def marked(pictures: Sequence[Picture], promises: Sequence[Promise], one: RunAtSize) -> list[Picture]:
    """Adds lines at the promised bounds to pictures of a run at one size."""
    return [_marked(picture, promises, one) for picture in pictures]


def _marked(picture: Picture, promises: Sequence[Promise], one: RunAtSize) -> Picture:
    ending = _ending(picture)
    kinds = _LINES.get(ending, ())
    lines = [
        promise
        for promise in promises
        # A sweep shows all sizes at once.
        if promise.kind in kinds and (picture.kind == "sweep" or promise.size_bytes == one.digest.size_bytes)
    ]
    # These promises bound a rank's rate, which phase rates by the pattern's formula are not.
    if not lines or (one.view.by_formula and "phase" in ending):
        return picture
    more = dict(picture.more)
    more["bounds"] = [{"label": promise.name, "value": promise.bound} for promise in lines]
    words = []
    for promise in lines:
        inside = picture.kind != "histogram" or _widened(more, promise.bound)
        told = "Dashed: what was promised," if inside else "Promised, beyond the picture's edge:"
        words.append(f"{told} {promise.said} ({promise.name}).")
    return replace(picture, more=more, caption="\n".join([picture.caption, *words]))


def _widened(more: dict[str, object], bound: float) -> bool:
    """Widens the frame of a histogram to include `bound` if that is near; returns False if it is too far."""
    low, high = more["from"], more["to"]
    assert isinstance(low, float)
    assert isinstance(high, float)
    reach = _WIDTHS_AWAY * (high - low)
    if not low - reach <= bound <= high + reach:
        return False
    margin = 0.02 * (max(high, bound) - min(low, bound))
    more["from"] = low if bound >= low else bound - margin
    more["to"] = high if bound <= high else bound + margin
    return True
