"""Writes the page; a file appears whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from crosscut import checking
from crosscut.analysis import find, promises
from crosscut.cabling.model import Cabling
from crosscut.errors import CrosscutError, UsageError, plainly
from crosscut.reports.html.page import Found, render
from crosscut.reports.html.verdicts import Judgement
from crosscut.reports.view import View, open_view
from crosscut.run import Run
from crosscut.spec import Spec


def judged(spec: Spec, views: Sequence[View]) -> Judgement:
    """The verdicts of `crosscut check` on these runs."""
    runs = [Run(view.path, view.dataset) for view in views]
    checked = checking.verdicts(spec, runs)
    largest = max(runs, key=lambda run: run.ranks)
    seen = {
        promise.name: next(run.path for run in runs if promises.measures(run, promise))
        for promise in spec.promises
        if any(promises.measures(run, promise) for run in runs)
    }
    return Judgement(spec, checked.judged, find.rank_names(largest), seen)


def write(
    runs: Sequence[Path],
    out: Path,
    *,
    size_bytes: int | None = None,
    found: Mapping[Path, Found] | None = None,
    overwrite: bool = False,
    cabling: Cabling | None = None,
    spec: Spec | None = None,
) -> None:
    if out.is_dir():
        raise UsageError(f"{out} is a directory; name a file with -o, such as {out / 'report.html'}")
    if out.exists() and not overwrite:
        raise UsageError(f"{out} exists; --force replaces it, -o names another file")
    views = [open_view(run) for run in runs]
    page = render(
        views, size_bytes=size_bytes, found=found, cabling=cabling,
        judgement=judged(spec, views) if spec is not None else None,
    )  # fmt: skip
    # A lone surrogate (of a file name that is no UTF-8) has no place in a page.
    content = page.encode("utf-8", "replace")
    try:
        handle, name = tempfile.mkstemp(prefix=f".{out.name}.", dir=out.parent)
    except OSError as error:
        raise CrosscutError(f"{out}: cannot be written: {plainly(error)}") from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        umask = os.umask(0)
        os.umask(umask)
        Path(name).chmod(0o666 & ~umask)  # as any file one writes; mkstemp makes it private
        Path(name).replace(out)
    except OSError as error:
        Path(name).unlink(missing_ok=True)
        raise CrosscutError(f"{out}: cannot be written: {plainly(error)}") from error
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
