"""The opening of the page: findings or the main figures, each with a link to the picture that proves it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from crosscut.analysis.findings.kinds import ORDER, FindingKind, Sort
from crosscut.analysis.findings.model import P_MEANS, Finding
from crosscut.base import units
from crosscut.base.spelling import sentence, tied
from crosscut.reports.html import meaning
from crosscut.reports.html.markup import Markup, element
from crosscut.reports.html.meaning import Meaning
from crosscut.reports.html.pictures.picture import Picture, RunAtSize, link
from crosscut.reports.words import figures
from crosscut.reports.words.sentences import MEDIAN_PAIR

# In characters: about three lines of a heading.
_LONGEST_HEADLINE = 120
UNLIKE = "No fault stands out, but not all hosts or routes are alike."
# Phases above this share of the fastest count as alike: a loaded machine's noise spreads them this much.
ALIKE = 0.9
SAME = 0.995


@dataclass(frozen=True)
class Told:
    """A sentence with the pictures that prove it."""

    text: str
    proofs: tuple[str, ...] = ()
    advice: str = ""
    effect: str = ""
    chance: str = ""
    """As in `Finding`."""
    meaning: Meaning | None = None
    """None: a figure, which is neither good nor bad."""
    order: int = len(ORDER)
    """Place of a finding's kind among all, the most important first."""

    @property
    def warns(self) -> bool:
        return self.meaning is Meaning.FAULT

    @property
    def class_(self) -> str | None:
        return self.meaning.value if self.meaning else None


def told(found: Sequence[Finding], one: RunAtSize, sentences: Sequence[str]) -> list[Told]:
    """Orders the story. The verdict comes first: what rules out any conclusion, warnings, that nothing stands
    out, or else what the design limits; then the shape of the phases, what explains it, the figures."""
    of_kind = [(finding.kind, _of_finding(finding)) for finding in found]
    shape = _shape(one)
    proofs = ("phases", "sweep-rate", "cloud", "victims-0", "streams")
    verdict = [
        *(said for kind, said in of_kind if kind is FindingKind.INCONCLUSIVE),
        *(said for kind, said in of_kind if kind.warns),
        *(said for kind, said in of_kind if kind is FindingKind.NOTHING),
    ]
    design = [said for kind, said in of_kind if kind.sort is Sort.DESIGN]
    if design and not verdict:
        limit = next((one for one in found if one.kind is FindingKind.SHARED_LIMIT), None)
        verdict = [_limited(limit) if limit is not None else replace(design[0], text=UNLIKE, advice="")]
        design = [said for said in design if limit is None or said != _of_finding(limit)]
    return [
        *verdict,
        *([Told(shape, ("phases",))] if shape else []),
        *design,
        *(Told(sentence(words), ("routes",) if _on_routes(words) else proofs) for words in sentences),
    ]


def _limited(of: Finding) -> Told:
    """Returns the sentence on a limit as the verdict."""
    what = of.what if not of.what.startswith("shared limit") else f"there is a {of.what}"
    return replace(_of_finding(of), text=sentence(f"No fault stands out, but {what}"))


def _on_routes(words: str) -> bool:
    return words.startswith("median route") or MEDIAN_PAIR in words


def _of_finding(of: Finding) -> Told:
    advice = sentence(of.advice) if of.advice else ""
    # Most sentences contain their effect.
    effect = (
        f"{of.effect.text()} of the ordinary rate" if of.effect and of.effect.text() not in of.what else ""
    )
    return Told(
        sentence(of.what), of.kind.proofs, advice, effect, of.chance, meaning.of_finding(of), ORDER[of.kind]
    )  # fmt: skip


def _shape(one: RunAtSize) -> str:
    """Returns a sentence on whether all phases are alike or how many fall short. A phase falls short if the
    upper end of its interval is below `ALIKE` times the lower end of the fastest phase's."""
    rates = one.digest.rates
    count = int(np.isfinite(rates.median).sum())
    worst, best = figures.extreme(rates), figures.extreme(rates, largest=True)
    if one.view.by_formula or not one.view.shape.by_phase or count < 2 or worst is None or best is None:
        return ""
    slowest, fastest = figures.at(rates, worst), figures.at(rates, best)
    share = units.percent(slowest.median / fastest.median)
    # One slow host slows every phase of an all-to-all, so phases alone would make the network look even.
    free = units.rate(one.digest.free_rate)
    held_back = fastest.median < ALIKE * one.digest.free_rate
    if slowest.median >= ALIKE * fastest.median:
        same = f"All {count:,} phases run at about the same rate"
        if held_back:
            return (
                f"{same}, {fastest.rate()}: each is as slow as its slowest message, and its fastest reaches "
                f"{free}."
            )
        if slowest.median >= SAME * fastest.median:
            return f"All {count:,} phases run at the same rate, {fastest.rate()}."
        return f"{same}: the slowest reaches {share} of the fastest phase's, {fastest.rate()}."
    upper = np.where(np.isfinite(rates.high), rates.high, rates.median)
    lower = fastest.low if math.isfinite(fastest.low) else fastest.median
    short = int((upper < ALIKE * lower).sum())
    if short == 0:
        return (
            "No phase is significantly slower: the 95 % intervals of the slowest and the fastest, "
            f"{slowest.rate()} and {fastest.rate()}, overlap."
        )
    are = "is" if short == 1 else "are"
    even = (
        f" Even the fastest phase waits for a slow message: other messages reach {free}." if held_back else ""
    )
    than = f"{'significantly ' if math.isfinite(fastest.low) else ''}slower than the fastest phase"
    return (
        f"{short:,} of {units.count(count, 'phase')} {are} {than}, down to {share} of its "
        f"rate: {units.rate(slowest.median)} against {units.rate(fastest.median)}, in "
        f"{one.view.phase_name(one.samples, worst)}.{even}"
    )


def section(told: Sequence[Told], pictures: Sequence[Picture]) -> Markup:
    """Returns the sentences as a list, each with its doubt and a link to its proof."""
    entries = [
        element(
            "li",
            element("p", tied(one.text)),
            doubt(one),
            link(proof) if (proof := proof_of(one, pictures)) else None,
            class_=one.class_,
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
    """Returns how certain the sentence is, and advice."""
    words = " · ".join(filter(None, (one.effect, one.chance, one.advice)))
    return element("p", words, class_="doubt") if words else None


def notes(told: Sequence[Told], *, given: bool) -> Markup | None:
    """Returns what the reader must know about the findings."""
    words = [P_MEANS] if any(one.chance for one in told) else []
    if given:
        words.append("The findings are those of crosscut locate (--located), which may have measured more.")
    return element("p", " ".join(words), class_="doubt") if words else None


def proof_of(one: Told, pictures: Sequence[Picture]) -> Picture | None:
    for ending in one.proofs:
        for picture in pictures:
            if picture.name.endswith(f"-{ending}"):
                return picture
    return None
