"""The page: findings, runs side by side, pictures of each run, method and tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from crosscut.analysis.compare.spec import Promise
from crosscut.analysis.figures.cautions import Caution
from crosscut.analysis.figures.digest import Digest
from crosscut.analysis.figures.pingpong import sweep
from crosscut.analysis.findings import cable_names
from crosscut.analysis.findings import of_run as find
from crosscut.analysis.findings.model import Finding
from crosscut.analysis.structure.model import Structure
from crosscut.base import units
from crosscut.base.errors import UsageError
from crosscut.base.spelling import capital, tied
from crosscut.cabling.model import Cabling
from crosscut.reports.html import changes, frame, method, story, tables, verdicts
from crosscut.reports.html.markup import Child, Markup, element, join
from crosscut.reports.html.meaning import Meaning
from crosscut.reports.html.pictures import conditions, run_pictures, sizes
from crosscut.reports.html.pictures.picture import Picture, RunAtSize, link
from crosscut.reports.html.pictures.sizes import SizeChoice
from crosscut.reports.html.story import Told
from crosscut.reports.html.verdicts import SpecJudgement
from crosscut.reports.view import View, chosen
from crosscut.reports.words import about, advice, costs, loggp
from crosscut.reports.words import check as words_check
from crosscut.reports.words.sentences import of_digest
from crosscut.run.imported import imported
from crosscut.run.realm import is_simulated
from crosscut.run.shape import Shape

_COMPUTED = " · computed, not measured"
# Runs named in the heading of a page of several.
_NAMED_IN_HEADING = 3


@dataclass(frozen=True)
class Found:
    """Conclusions about a run from an earlier analysis (`crosscut locate`)."""

    findings: Sequence[Finding] = ()
    structure: Structure | None = None


@dataclass(frozen=True)
class Chapter:
    """Everything that the page says about one run."""

    name: str
    """The id of its section, and the beginning of its pictures' names."""
    series: RunAtSize
    digests: Sequence[Digest]
    told: Sequence[Told]
    findings_given: bool
    """True if they are from `crosscut locate --json`, not from this run."""
    cautions: Sequence[Caution]
    pictures: Sequence[Picture]
    choice: SizeChoice

    @property
    def view(self) -> View:
        return self.series.view


def render(
    views: Sequence[View],
    *,
    size_bytes: int | None = None,
    found: Mapping[Path, Found] | None = None,
    cabling: Cabling | None = None,
    judgement: SpecJudgement | None = None,
) -> str:
    """Returns the whole page. Raises UsageError if nothing was measured in one of the runs."""
    chapters = _chapters(views, size_bytes, found or {}, cabling, judgement)
    together = _laid_over(chapters)
    beside = _together(chapters, together) if len(chapters) > 1 else Markup("")
    changed = changes.section(*(chapter.series for chapter in chapters)) if len(chapters) == 2 else None
    body = join(
        _opening(chapters, judgement),
        changed,
        beside,
        *(_run(chapter, alone=len(chapters) == 1) for chapter in chapters),
        _part("method", "How it was measured", lambda chapter: method.section(chapter.view), chapters),
        _part("tables", "Tables", _tables, chapters),
    )  # fmt: skip
    shown = [*together, *(picture for chapter in chapters for picture in chapter.pictures)]
    choices = [*_choices_together(chapters), *(chapter.choice for chapter in chapters)]
    data_ = {
        "pictures": {picture.name: picture.as_json() for picture in shown},
        "sizes": sizes.as_json(choices, shown),
    }
    first = _verdict(chapters) if len(chapters) > 1 else chapters[0].told[0].text
    described = words_check.headline(judgement.judged) if judgement else first
    return _document(body, data_, chapters, described, changed=changed is not None)


def pictures(
    views: Sequence[View], *, size_bytes: int | None = None, found: Mapping[Path, Found] | None = None
) -> list[Picture]:
    """Returns the pictures of the page. Raises UsageError as `render`."""
    chapters = _chapters(views, size_bytes, found or {}, None, None)
    return [*_laid_over(chapters), *(picture for chapter in chapters for picture in chapter.pictures)]


def _chapters(
    views: Sequence[View], size_bytes: int | None, found: Mapping[Path, Found], cabling: Cabling | None,
    judgement: SpecJudgement | None,
) -> list[Chapter]:  # fmt: skip
    return [
        _chapter(
            view, name, f"run{index + 1}", size_bytes, found.get(view.path), cabling,
            judgement.promises(view.path) if judgement else (),
        )
        for index, (view, name) in enumerate(zip(views, distinct_names(views), strict=True))
    ]  # fmt: skip


def _laid_over(chapters: Sequence[Chapter]) -> list[Picture]:
    return run_pictures.side_by_side([chapter.series for chapter in chapters], "together")


def distinct_names(views: Sequence[View]) -> list[str]:
    """Names runs by file name, or by as much of the path as makes all names distinct."""
    paths = [view.path.absolute() for view in views]
    for depth in range(1, max(len(path.parts) for path in paths) + 1):
        names = ["/".join(path.parts[-depth:]).removesuffix(".zarr") for path in paths]
        if len(set(names)) == len(names):
            return names
    twice = next((path for path in paths if paths.count(path) > 1), None)
    if twice is None:  # two differ only in the suffix
        return [str(path) for path in paths]
    raise UsageError(f"{twice} is named twice; name each run once")


def _chapter(
    view: View,
    label: str,
    name: str,
    size_bytes: int | None,
    given: Found | None,
    cabling: Cabling | None,
    promises: Sequence[Promise],
) -> Chapter:
    digests = view.digests()
    if not digests:
        raise UsageError(f"{view.path}: nothing is measured yet, so there is nothing to report")
    shown = chosen(view.path, digests, size_bytes)
    assert shown is not None
    series = RunAtSize(label, view, shown)
    index = view.sizes_bytes.index(shown.size_bytes)
    found = Found(*find.look(view, index, shown.routes)) if given is None else given
    if cabling is not None:
        found = Found(*cable_names.named(found.findings, found.structure, cabling))
    found = Found(*advice.placed(found.findings, found.structure, advice.place_of(view.attributes)))
    told = story.told(found.findings, series, of_digest(view, series.digest))
    drawn = run_pictures.pictures(series, name, found.structure, found.findings)
    drawn = verdicts.marked(drawn, promises, series)
    # Cautions about victims need single samples; such runs are small.
    looked_at = view.measured() if view.shape is Shape.VICTIMS else [digest.phases for digest in digests]
    if (by_way := costs.latency_by_hops(view)) is not None:
        told.append(Told(f"{capital(costs.hops_sentence(by_way))}.", ("hops",)))
        drawn.append(conditions.of_hops(by_way, costs.timed(view), f"{name}-hops"))
    choice = _choice(series, digests, name, found.structure, promises)
    cautions = about.beware(view, looked_at)
    return Chapter(name, series, digests, told, given is not None, cautions, drawn, choice)


def _choice(
    shown: RunAtSize,
    digests: Sequence[Digest],
    name: str,
    known: Structure | None,
    promises: Sequence[Promise],
) -> SizeChoice:
    of_size = {digest.size_bytes: digest for digest in digests}

    def draw(size: int) -> list[Picture]:
        one = RunAtSize(shown.name, shown.view, of_size[size])
        return verdicts.marked(run_pictures.details(one, name, known), promises, one)

    return sizes.choice(name, shown.digest.size_bytes, of_size, shown.view.ranks, draw)


def _choices_together(chapters: Sequence[Chapter]) -> list[SizeChoice]:
    """Offers the sizes that all runs have, if all are shown at the same size."""
    chosen = {chapter.series.digest.size_bytes for chapter in chapters}
    if len(chapters) < 2 or len(chosen) > 1:
        return []
    there = [{digest.size_bytes: digest for digest in chapter.digests} for chapter in chapters]

    def draw(size: int) -> list[Picture]:
        runs = zip(chapters, there, strict=True)
        same = [RunAtSize(chapter.series.name, chapter.view, digests[size]) for chapter, digests in runs]
        return run_pictures.side_by_side(same, "together", sweeps=False)

    # 1 rank: none of these pictures is a heat map, so their size hardly depends on the number of ranks.
    common = set.intersection(*(set(digests) for digests in there))
    return [sizes.choice("together", chosen.pop(), common, 1, draw)]


def _opening(chapters: Sequence[Chapter], judgement: SpecJudgement | None) -> Markup:
    """Returns the verdicts, if there is a spec, then the findings of a single run or one line for each of
    several. Without verdicts, the first finding of a single run is the page's heading."""
    alone = chapters[0] if len(chapters) == 1 else None
    class_: str | None = None if judgement else _worst_first(chapters)[0].told[0].class_
    lead: Sequence[Child]
    if judgement is not None:
        of_run = {chapter.view.path: chapter.pictures for chapter in chapters}
        head, told = words_check.headline(judgement.judged), chapters[0].told
        lead = verdicts.section(judgement, of_run), element("h2", "What the measurement shows")
    elif alone:
        first, further = story.headline(alone.told[0].text)
        head, told = tied(first), alone.told[1:]
        proof = story.proof_of(alone.told[0], alone.pictures)
        lead = [
            element("p", tied(further)) if further else None,
            story.doubt(alone.told[0]),
            element("p", link(proof)) if proof else None,
        ]
    else:
        head, told, lead = _verdict(chapters), (), ()
    return element(
        "header",
        _kicker(alone.view)
        if alone
        else element("p", f"crosscut report: {_several(chapters)}", _how(chapters), class_="kicker"),
        element("h1", head, class_=class_),
        *lead,
        method.cautions(alone.cautions) if alone else None,
        story.section(told, alone.pictures) if alone else _each_by_name(chapters),
        story.notes(alone.told, given=alone.findings_given) if alone else None,
    )


def _verdict(chapters: Sequence[Chapter]) -> str:
    """Returns the heading of several runs. The list below it has the whole sentences."""
    if warns := [chapter.series.name for chapter in _worst_first(chapters) if chapter.told[0].warns]:
        named = ", ".join(warns[:_NAMED_IN_HEADING]) + (
            " and others" if len(warns) > _NAMED_IN_HEADING else ""
        )
        show = "raises a warning" if len(warns) == 1 else "raise warnings"
        return f"{len(warns):,} of {len(chapters):,} runs {show}: {named}."
    if all(chapter.told[0].meaning is Meaning.SOUND for chapter in chapters):
        return f"Nothing stands out in any of {len(chapters):,} runs."
    if all(chapter.told[0].meaning is Meaning.UNKNOWN for chapter in chapters):
        return f"None of {len(chapters):,} runs tells anything about the network."
    judged = [chapter for chapter in chapters if chapter.told[0].meaning is not None]
    if len(judged) == len(chapters):
        return "No fault stands out in any run."
    return (
        f"No fault stands out in {units.count(len(judged), 'run')}; the others look for none."
        if judged
        else _several(chapters)
    )


def _worst_first(chapters: Sequence[Chapter]) -> list[Chapter]:
    """Returns the runs that warn before all others, by the order of their kinds of findings."""
    return sorted(
        chapters, key=lambda one: (not one.told[0].warns, one.told[0].order if one.told[0].warns else 0)
    )


def _several(chapters: Sequence[Chapter]) -> str:
    """`3 runs side by side`, or empty for one run."""
    return f"{units.count(len(chapters), 'run')} side by side" if len(chapters) > 1 else ""


def _how(chapters: Sequence[Chapter]) -> str:
    """Says that the runs were computed, if all were."""
    return _COMPUTED if all(is_simulated(chapter.view.attributes) for chapter in chapters) else ""


def _kicker(view: View) -> Markup:
    how = _COMPUTED if is_simulated(view.attributes) else ""
    if (other := imported(view.attributes)) is not None:
        how = f" · measured by {other.program}, not by crosscut"
    faults = "; ".join(about.planted(view))
    planted = f" · planted: {faults}" if faults else ""
    return element("p", about.what(view), " · ", about.where(view), how, planted, class_="kicker")


def _each_by_name(chapters: Sequence[Chapter]) -> Markup:
    entries = [
        element(
            "li",
            element("a", chapter.series.name, href=f"#{chapter.name}"),
            f": {tied(story.headline(chapter.told[0].text)[0])}",
            _in_brackets(
                (sum(one.warns for one in chapter.told[1:]), "more warning"),
                (len(chapter.cautions), "caution"),
            ),
            class_=chapter.told[0].class_,
        )
        for chapter in _worst_first(chapters)
    ]  # fmt: skip
    return element("ol", entries, class_="findings")


def _in_brackets(*counts: tuple[int, str]) -> str | None:
    """` (2 more warnings, 1 caution)`, without what there is none of."""
    said = ", ".join(units.count(count, what) for count, what in counts if count)
    return tied(f" ({said})") if said else None


def _together(chapters: Sequence[Chapter], shown: Sequence[Picture]) -> Markup:
    """Returns the section that compares several runs: a table of all, and the pictures that some share."""
    patterns = {chapter.view.pattern for chapter in chapters}
    note = None
    if len(patterns) > 1:
        note = element(
            "p",
            "Only runs of the same pattern can share a picture; these runs are of "
            f"{', '.join(sorted(patterns))}.",
            class_="doubt",
        )
    return element(
        "section", element("h2", "Side by side"),
        tables.side_by_side([(chapter.name, chapter.series) for chapter in chapters]), note,
        frame.figures(shown) if shown else None, id="together",
    )  # fmt: skip


def _run(chapter: Chapter, *, alone: bool) -> Markup:
    head = "Pictures" if alone else chapter.series.name
    intro = None
    if not alone:
        intro = join(
            _kicker(chapter.view),
            method.cautions(chapter.cautions),
            story.section(chapter.told, chapter.pictures),
            story.notes(chapter.told, given=chapter.findings_given),
        )
    figures = frame.figures(chapter.pictures)
    if not chapter.pictures:
        figures = element("p", "There is too little to draw; the tables have the figures.")
    return element(
        "section", element("h2", head), intro, sizes.note(chapter.choice, chapter.view.path), figures,
        id=chapter.name,
    )  # fmt: skip


def _part(name: str, head: str, of_run: Callable[[Chapter], Child], chapters: Sequence[Chapter]) -> Markup:
    """Returns a section with one entry per run, headed by the run's name if there are several."""
    entries = [
        element("article", element("h3", chapter.series.name) if len(chapters) > 1 else None, of_run(chapter))
        for chapter in chapters
    ]
    return element("section", element("h2", head), entries, id=name)


def _tables(chapter: Chapter) -> list[Markup]:
    view = chapter.view
    parts: list[Markup] = []
    if view.shape is Shape.ALGORITHMS:
        return [tables.of_algorithms(view), tables.effort(view)]
    if view.shape is Shape.SWEEP:
        parts.append(tables.of_sweep(sweep(view.measured()), loggp.mode(view)))
    elif len(chapter.digests) > 1:
        parts.append(tables.by_size(chapter.digests, formula=view.by_formula))
    parts.append(tables.slowest_routes(chapter.series))
    if view.shape is not Shape.SWEEP or chapter.series.samples.of_phases:  # else a phase is one pair
        parts.append(tables.phases(chapter.series))
    return [*parts, tables.effort(view)]


def _document(
    body: Markup, shown: Mapping[str, object], chapters: Sequence[Chapter], description: str, *, changed: bool
) -> str:
    several = len(chapters) > 1
    links = [(changes.NAME, "What changed")] if changed else []
    links += [("together", "Side by side")] if several else []
    links += [(chapter.name, chapter.series.name if several else "Pictures") for chapter in chapters]
    links += [("method", "How it was measured"), ("tables", "Tables")]
    title = _several(chapters) or chapters[0].series.name
    return frame.page(title, body, shown, links, description, pictures=chapters[0].name)
