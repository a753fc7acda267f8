"""The network that a run was measured on, as a file that the core reads."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from crosscut.analysis.findings import of_run
from crosscut.analysis.structure import network_file
from crosscut.base.errors import UsageError
from crosscut.run.run import Run


@contextmanager
def opened(named: str) -> Iterator[str]:
    """Yields the name of a description, or a file made for the run `named`: of the network that the run
    records, else of the one that it shows. Raises UsageError."""
    if not Path(named).is_dir():
        yield named
        return
    with tempfile.TemporaryDirectory(prefix="crosscut-") as folder:
        file = Path(folder) / f"{Path(named).resolve().stem}.toml"
        file.write_text(_text(Path(named)), encoding="utf-8")
        yield str(file)


def _text(folder: Path) -> str:
    run = Run.open(folder)
    recorded = run.attributes.get("network")
    if isinstance(recorded, dict) and isinstance(text := recorded.get("description"), str):
        return text
    found, structure = of_run.look(run, None)
    if structure is None:
        why = f" ({found[0].what})" if found else ""
        raise UsageError(
            f"{folder}: the run does not show its network{why}; name a description, or measure one: crosscut "
            "locate --on PLACE -o found.toml"
        )
    return network_file.text(structure, f"crosscut place of {folder.name}")
