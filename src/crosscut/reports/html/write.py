"""Writes the page; a file appears whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from crosscut.cabling.model import Cabling
from crosscut.errors import CrosscutError, UsageError, plainly
from crosscut.reports.html.page import Found, render
from crosscut.reports.view import open_view


def write(
    runs: Sequence[Path],
    out: Path,
    *,
    size_bytes: int | None = None,
    found: Mapping[Path, Found] | None = None,
    overwrite: bool = False,
    cabling: Cabling | None = None,
) -> None:
    if out.is_dir():
        raise UsageError(f"{out} is a directory; name a file with -o, such as {out / 'report.html'}")
    if out.exists() and not overwrite:
        raise UsageError(f"{out} exists; --force replaces it, -o names another file")
    page = render([open_view(run) for run in runs], size_bytes=size_bytes, found=found, cabling=cabling)
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
