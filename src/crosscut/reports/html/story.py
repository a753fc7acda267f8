"""What stands first: findings, or what the figures themselves say, each beside the picture that proves it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from crosscut.analysis.findings.kinds import Sort
from crosscut.analysis.findings.model import Finding
from crosscut.analysis.stats.doubt import SMALLEST_CLAIMED
from crosscut.base import units
from crosscut.reports.html.markup import Markup, element, tight
from crosscut.reports.html.pictures.picture import Picture, RunAtSize, link
from crosscut.reports.words import figures

# Characters: about three lines of a heading.
_LONGEST_HEADLINE = 120
# From here on phases (or routes) count as all alike: within what a loaded machine's noise makes of them.
ALIKE = 0.9


@dataclass(frozen=True)
class Told:
    """A sentence, and the pictures that show it."""

    text: str
    proofs: tuple[str, ...] = ()
    advice: str = ""
    doubt: str = ""
    warns: bool = False


def told(found: Sequence[Finding], one: RunAtSize, sentences: Sequence[str]) -> list[Told]:
    """What warns first; then the shape of the phases and what explains it; then the terminal's sentences."""
    of_kind = [(finding.kind, _of_finding(finding)) for finding in found]
    shape = _shape(one)
    proofs = ("phases", "sweep-rate", "cloud", "victims-0", "streams")
    return [
        *(said for kind, said in of_kind if kind.warns),
        *([Told(shape, ("phases",))] if shape else []),
        *(said for kind, said in of_kind if kind.sort is Sort.DESIGN),
        *(
            Told(_sentence(words), ("routes",) if words.startswith("median route") else proofs)
            for words in sentences
        ),
        *(said for kind, said in of_kind if kind.sort is Sort.NOTHING),
    ]


def _of_finding(of: Finding) -> Told:
    return Told(_sentence(of.what), of.kind.proofs, of.advice, _doubt(of), of.kind.warns)


def _doubt(finding: Finding) -> str:
    words = [f"effect {finding.effect.text()}"] if finding.effect else []
    chance = finding.false_alarm
    if math.isfinite(chance) and finding.kind.warns:
        shown = units.percent(chance) if chance > SMALLEST_CLAIMED else f"below {100 * SMALLEST_CLAIMED:g} %"
        words.append(f"chance of a false alarm: {shown}")
    return "; ".join(words)


def _sentence(words: str) -> str:
    # A name (n0012) stays as it is.
    first = words.split(maxsplit=1)[0] if words.strip() else ""
    start = words[:1].upper() if first.isalpha() else words[:1]
    return start + words[1:] + ("" if words.endswith(".") else ".")


def _shape(one: RunAtSize) -> str:
    """A sentence: all phases are alike, or how many fall short, and how far. A phase falls short where
    even the upper end of its interval is below the lower end of the fastest one's."""
    rates = one.digest.rates
    count = int(np.isfinite(rates.median).sum())
    worst, best = figures.extreme(rates), figures.extreme(rates, largest=True)
    if one.view.by_formula or not one.view.shape.by_phase or count < 2 or worst is None or best is None:
        return ""
    slowest, fastest = figures.at(rates, worst), figures.at(rates, best)
    share = units.percent(slowest.median / fastest.median)
    if slowest.median >= ALIKE * fastest.median:
        return (
            f"All {count:,} phases run at about the same rate: the slowest reaches {share} of the fastest, "
            f"{fastest.rate()}."
        )
    upper = np.where(np.isfinite(rates.high), rates.high, rates.median)
    lower = fastest.low if math.isfinite(fastest.low) else fastest.median
    short = int((upper < ALIKE * lower).sum())
    against = f"{units.rate(slowest.median)} against {units.rate(fastest.median)}"
    if short == 0:
        return f"No phase is significantly slower: {against}, which is within their 95 % intervals."
    return (
        f"The network falls short in {short:,} of {units.count(count, 'phase')}: down to {share} of the "
        f"fastest, {against}, in {one.view.phase_name(one.samples, worst)}."
    )


def section(told: Sequence[Told], pictures: Sequence[Picture]) -> Markup:
    """All but the lead, which heads the page."""
    entries = [
        element(
            "li",
            element("p", tight(one.text)),
            doubt(one),
            link(proof) if (proof := proof_of(one, pictures)) else None,
            class_="warns" if one.warns else None,
        )
        for one in told
    ]
    return element("ol", entries, class_="findings") if entries else Markup("")


def headline(text: str) -> tuple[str, str]:
    """Splits a long sentence at its first semicolon into a headline and the rest; "" if nothing is left."""
    first, _, rest = text.partition("; ")
    if len(text) <= _LONGEST_HEADLINE or not rest or first.count("(") != first.count(")"):
        return text, ""
    return f"{first}.", rest[0].upper() + rest[1:]


def doubt(one: Told) -> Markup | None:
    """How sure it is, and what to do."""
    words = " · ".join(filter(None, (one.doubt, one.advice)))
    return element("p", words, class_="doubt") if words else None


def proof_of(one: Told, pictures: Sequence[Picture]) -> Picture | None:
    for ending in one.proofs:
        for picture in pictures:
            if picture.name.endswith(f"-{ending}"):
                return picture
    return None
