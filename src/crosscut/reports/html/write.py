"""Writes the page atomically."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from crosscut.analysis.compare import promises
from crosscut.analysis.compare.promises import PromiseVerdict
from crosscut.analysis.compare.spec import Spec
from crosscut.analysis.compare.spec import read as read_spec
from crosscut.analysis.findings import of_run
from crosscut.base import whole_file
from crosscut.base.errors import UsageError
from crosscut.cabling.model import Cabling
from crosscut.reports import redaction
from crosscut.reports.html.page import Found, render
from crosscut.reports.html.verdicts import SpecJudgement
from crosscut.reports.json import check as json_check
from crosscut.reports.view import View


def judged(
    spec: Spec, views: Sequence[View], verdicts: Sequence[PromiseVerdict] | None = None
) -> SpecJudgement:
    """Wraps the given verdicts, or judges the runs as `crosscut check` does if there are none."""
    found = tuple(verdicts) if verdicts is not None else promises.verdicts(spec, views).judged
    largest = max(views, key=lambda run: run.ranks)
    # Reversed, so that the first of several runs wins.
    measuring = (
        (one, run) for run in reversed(views) for one in spec.promises if promises.measures(run, one)
    )
    seen = {promise.name: run.path for promise, run in measuring}
    return SpecJudgement(spec, found, of_run.rank_names(largest), seen)


def _judgement(views: Sequence[View], spec: Path | None, verdicts: Path | None) -> SpecJudgement | None:
    if verdicts is not None:
        promised, found = json_check.read(verdicts, max(view.ranks for view in views))
        return judged(promised, views, found)
    return judged(read_spec(spec), views) if spec is not None else None


def _without_names(
    views: Sequence[View], found: Mapping[Path, Found], judgement: SpecJudgement | None
) -> tuple[Sequence[View], Mapping[Path, Found], SpecJudgement | None]:
    """Redacts views, findings and verdicts. Redaction drops the network, so judging must come before."""
    known = redaction.aliases(views)
    shown = redaction.views(views, known)
    path_of = {old.path: new.path for old, new in zip(views, shown, strict=True)}
    told = {
        path_of[path]: Found(
            [redaction.finding(one, known) for one in given.findings],
            redaction.structure(given.structure, known),
        )
        for path, given in found.items()
    }
    if judgement is not None:
        judgement = replace(
            judgement,
            spec=redaction.spec(judgement.spec, known),
            judged=redaction.judged(judgement.judged, known),
            names=tuple(map(known.text, judgement.names)),
            measured_by={known.text(name): path_of[path] for name, path in judgement.measured_by.items()},
        )
    return shown, told, judgement


def write(
    runs: Sequence[Path],
    out: Path,
    *,
    size_bytes: int | None = None,
    found: Mapping[Path, Found] | None = None,
    overwrite: bool = False,
    cabling: Cabling | None = None,
    spec: Path | None = None,
    verdicts: Path | None = None,
    redact: bool = False,
) -> None:
    if out.is_dir():
        raise UsageError(f"{out} is a directory; name a file with -o, such as {out.with_suffix('.html')}")
    if out.exists() and not overwrite and not whole_file.is_special(out):
        raise UsageError(f"{out} exists; --force replaces it, -o names another file")
    views: Sequence[View] = [View.open(run) for run in runs]
    judgement = _judgement(views, spec, verdicts)
    if redact:
        views, found, judgement = _without_names(views, found or {}, judgement)
    page = render(views, size_bytes=size_bytes, found=found, cabling=cabling, judgement=judgement)
    # A file name that is not UTF-8 contains lone surrogates, which cannot be encoded.
    whole_file.write_output(out, page.encode("utf-8", "replace"))
