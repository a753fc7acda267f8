"""Generates reference pages from the program itself, so that they cannot contradict it.

docs/reference/patterns.md and backends.md come from `crosscut-core list --json` and the notes in notes.toml,
docs/reference/cli.md from the help of each command.
"""

import argparse
import os
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

from routes import routes_table

from crosscut import cli
from crosscut.base import core
from crosscut.base.errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, EXIT_USAGE
from crosscut.cli.compare import EXIT_UNDECIDED
from crosscut.cli.parsing import options

REFERENCE = Path(__file__).resolve().parent / "reference"
NOTES = REFERENCE / "notes.toml"
HELP_COLUMNS = "100"
MADE = (
    "<!-- Made by docs/generate.py: change the program's own help, or notes.toml, in place of this page. -->"
)

EXIT_STATUS = (
    (EXIT_OK, "done"),
    (EXIT_FAILED, "the measurement or the machine failed: a rank was lost (also where that was tolerated), a "
     "byte was wrong, the disk is full, a run is damaged"),
    (EXIT_USAGE, "wrong usage, or a file that cannot be read as what it should be"),
    (EXIT_UNDECIDED, "undecided (`check`, `compare`): more repetitions or launches could decide it, or the "
     "machine that emulates the network was the limit"),
    (EXIT_INTERRUPTED, "interrupted (Ctrl-C, SIGTERM); what was measured is on disk"),
)  # fmt: skip


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


def parameter_table(parameters: Iterable[core.Parameter], prefix: str = "") -> list[str]:
    rows = []
    for parameter in parameters:
        values = ", ".join(f"`{choice}`" for choice in parameter.choices) or parameter.kind
        default = f"`{parameter.default}`" if parameter.default else ""
        option = f"`--{prefix}{parameter.name.removeprefix(prefix)}`"
        columns = [option, values, cell(parameter.unit), default, cell(parameter.help)]
        rows.append(f"| {' | '.join(columns)} |")
    if not rows:
        return []
    return ["", "| option | values | unit | default | what |", "| --- | --- | --- | --- | --- |", *rows]


def common_options() -> set[str]:
    """Returns the options of every run. A pattern's parameter of the same name gets the pattern as prefix."""
    parser = argparse.ArgumentParser(add_help=False)
    options.add_how(parser)
    options.add_where(parser, "")
    return {option for action in vars(parser)["_actions"] for option in action.option_strings}


def pattern_section(pattern: core.Pattern, notes: Mapping[str, str], taken: set[str]) -> list[str]:
    lines = ["", f"## {pattern.name}", "", f"*{cell(pattern.answers)}*", "", f"{cell(pattern.summary)}."]
    if note := notes.get("note"):
        lines += ["", note.strip()]
    if words := notes.get("routes"):
        lines += ["", *routes_table(core.load().executable, pattern.name, words)]
    lines += [
        "",
        f"**Rate:** `{pattern.formula}`, per {pattern.formula_per}. **Source:** {cell(pattern.source)}.",
    ]
    for parameter in pattern.parameters:
        prefix = f"{pattern.name}-" if f"--{parameter.name}" in taken else ""
        table = parameter_table([parameter], prefix)
        lines += table if parameter is pattern.parameters[0] else table[-1:]
    if example := notes.get("example"):
        lines += ["", "```sh", example, "```"]
    return lines


def patterns_page(known: core.Core, notes: Mapping[str, Mapping[str, str]]) -> str:
    lines = ["# Patterns", "", MADE, "", notes["page"]["patterns"].strip()]
    lines += ["", "| pattern | question |", "| --- | --- |"]
    lines += [f"| [{p.name}](#{p.name}) | {cell(p.answers)} |" for p in known.patterns]
    taken = common_options()
    for pattern in known.patterns:
        lines += pattern_section(pattern, notes.get(pattern.name, {}), taken)
    lines += ["", "## Sources", "", notes["page"]["sources"].strip()]
    return "\n".join(lines) + "\n"


def backends_page(known: core.Core, notes: Mapping[str, Mapping[str, str]]) -> str:
    lines = ["# Backends", "", MADE, "", notes["page"]["backends"].strip()]
    for backend in known.backends:
        traits = [
            "moves bytes between processes" if backend.live else "moves no bytes",
            "goes on without a lost rank (`--tolerate-failures`)"
            if backend.tolerates_failure
            else "has no ranks to lose"
            if backend.name == "sim"
            else "ends when a rank is lost",
            *(["may lose bytes, and counts them"] if backend.lossy else []),
        ]
        summary = cell(backend.summary)
        lines += [
            "",
            f"## {backend.name}",
            "",
            f"{summary[:1].upper()}{summary[1:]}. It {'; '.join(traits)}.",
        ]
        if note := notes.get(backend.name, {}).get("note"):
            lines += ["", note.strip()]
        lines += parameter_table(backend.parameters, f"{backend.name}-")
    return "\n".join(lines) + "\n"


def subparsers(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in vars(parser)["_actions"]:
        if isinstance(action.choices, dict):
            return action.choices
    return {}


def cli_page(notes: Mapping[str, Mapping[str, str]]) -> str:
    os.environ["COLUMNS"] = HELP_COLUMNS
    parser = cli.build_parser()
    commands = subparsers(parser)
    lines = ["# Commands", "", MADE, "", notes["page"]["cli"].strip()]
    lines += ["", "## Exit status", "", "| status | meaning |", "| --- | --- |"]
    lines += [f"| {status} | {meaning} |" for status, meaning in EXIT_STATUS]
    lines += ["", "## crosscut", "", "```text", parser.format_help().rstrip(), "```"]
    for name, command in commands.items():
        lines += ["", f"## crosscut {name}", "", "```text", command.format_help().rstrip(), "```"]
        # The patterns of `run` have their own page.
        for action in (subparsers(command) if name != "run" else {}).values():
            lines += ["", "```text", action.format_help().rstrip(), "```"]
    return "\n".join(lines) + "\n"


def pages() -> dict[str, str]:
    """Returns the text of every generated page by file name."""
    known = core.load()
    notes = tomllib.loads(NOTES.read_text(encoding="utf-8"))
    return {
        "patterns.md": patterns_page(known, notes),
        "backends.md": backends_page(known, notes),
        "cli.md": cli_page(notes),
    }


def main() -> None:
    for name, text in pages().items():
        (REFERENCE / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
