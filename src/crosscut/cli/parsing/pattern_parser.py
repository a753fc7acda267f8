"""The parser of `crosscut run PATTERN`, whose help shows what is this pattern's own: its parameters and those
of the chosen backend. What every run has is on the page of `crosscut run --help`."""

from __future__ import annotations

import argparse
import shutil
import textwrap
from collections.abc import Sequence
from typing import Any

from crosscut.base.core import Core, Pattern
from crosscut.cli.parsing import options
from crosscut.cli.parsing.parser import Parser, epilog
from crosscut.session.measure import default_backend


class PatternParser(Parser):
    """Knows all options of a run; its help shows some."""

    common_groups: frozenset[str] = frozenset()
    """Titles of what every run has, which `crosscut run --help` shows."""
    backends: tuple[str, ...] = ()
    """Those with parameters."""

    def format_help(self) -> str:
        chosen = chosen_backend(self.words)
        hidden = {options.backend_group(name) for name in self.backends if name != chosen}
        hidden |= self.common_groups
        everything, more = self._action_groups, self.epilog
        # Without `options`, which holds --help alone.
        self._action_groups = [group for group in everything[2:] if group.title not in hidden]
        self.epilog = f"{self._elsewhere(chosen)}\n\n{more}"
        try:
            return super().format_help()
        finally:
            self._action_groups, self.epilog = everything, more

    def _elsewhere(self, chosen: str) -> str:
        others = ", ".join(name for name in self.backends if name != chosen)
        return (
            "Options of every run (repetitions, ranks, place, output): crosscut run --help\n"
            f"Parameters of other backends ({others}): crosscut list BACKEND"
        )


def chosen_backend(words: Sequence[str]) -> str:
    """The backend that words typed so far name or imply."""
    typed = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    typed.add_argument("--backend", nargs="?", default="")
    typed.add_argument("--on", nargs="?", default="")
    found, _ = typed.parse_known_args([*words])
    return found.backend or default_backend(found.on or "")


def describe(known: Core, pattern: Pattern) -> dict[str, Any]:
    """What the help of a pattern says beside its options, by argparse's names: question, formula, source,
    examples."""
    width = shutil.get_terminal_size().columns - 2
    rate = f"Rate: {pattern.formula}" + (f", per {pattern.formula_per}." if pattern.formula_per else ".")
    lines = (f"{pattern.summary}.", f"Question: {pattern.answers}", rate, f"Source: {pattern.source}.")
    text = "\n".join(textwrap.fill(line, width, subsequent_indent="  ") for line in lines)
    if not pattern.parameters:
        text += f"\n\nThe pattern {pattern.name} has no parameters of its own."
    examples = f"example:\n  crosscut run {pattern.name} -n 8 --size 1MB"
    if with_parameters := [backend.name for backend in known.backends if backend.parameters]:
        examples += f"\n  crosscut run {pattern.name} --backend {with_parameters[-1]} --help"
    usage = f"crosscut run {pattern.name} [OPTION …]"
    return {"usage": usage, "description": text.replace("%", "%%"), "epilog": epilog(examples)}
