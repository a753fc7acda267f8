"""The documentation agrees with the program: it has every command, option, pattern and parameter, and the
program accepts every command line in it."""

import argparse
import re
import shlex
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from crosscut import cli
from crosscut.base import core
from crosscut.base.core import CoreError
from crosscut.cli.parsing import options

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([ROOT / "README.md", *DOCS.glob("*.md"), *DOCS.glob("reference/*.md"), *DOCS.glob("adr/*.md")])


@pytest.fixture(scope="module")
def known() -> core.Core:
    try:
        return core.load()
    except CoreError as error:
        pytest.skip(f"needs the core: {error}")


def subparsers(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in vars(parser)["_actions"]:
        if isinstance(action.choices, dict):
            return action.choices
    return {}


def option_strings(parser: argparse.ArgumentParser) -> set[str]:
    return {option for action in vars(parser)["_actions"] for option in action.option_strings}


def section(page: str, heading: str) -> str:
    found = re.search(rf"^## {re.escape(heading)}$(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    assert found, f"there is no section '{heading}'"
    return found[1]


def test_every_command_and_option_is_documented(known):
    page = (DOCS / "reference" / "cli.md").read_text(encoding="utf-8")
    for name, command in subparsers(cli.build_parser()).items():
        text = section(page, f"crosscut {name}")
        words = set(re.findall(r"(?<![\w-])-{1,2}[a-z][a-z-]*", text))
        assert option_strings(command) <= words, f"crosscut {name}: run docs/generate.py"


def test_every_pattern_is_documented_with_formula_and_source(known):
    page = (DOCS / "reference" / "patterns.md").read_text(encoding="utf-8")
    for pattern in known.patterns:
        text = section(page, pattern.name)
        assert f"`{pattern.formula}`" in text
        assert pattern.source.split(";")[0].split("(")[0].strip() in text
        for parameter in pattern.parameters:
            assert re.search(rf"^\| `--({pattern.name}-)?{parameter.name}` \|", text, re.MULTILINE), (
                parameter.name
            )


def test_every_backend_is_documented(known):
    page = (DOCS / "reference" / "backends.md").read_text(encoding="utf-8")
    for backend in known.backends:
        text = section(page, backend.name)
        for parameter in backend.parameters:
            assert f"`{options.backend_flag(parameter, known.backends)}`" in text


def test_documented_parameters_of_patterns_are_options_of_the_command_line(known):
    page = (DOCS / "reference" / "patterns.md").read_text(encoding="utf-8")
    runs = subparsers(subparsers(cli.build_parser())["run"])
    for pattern in known.patterns:
        documented = re.findall(r"^\| `(--[a-z-]+)` \|", section(page, pattern.name), re.MULTILINE)
        # A common option would shadow a parameter of the same name, but --rails stands for both.
        common = argparse.ArgumentParser(add_help=False)
        options.add_how(common)
        options.add_where(common, "")
        assert set(documented) <= option_strings(runs[pattern.name]) - (option_strings(common) - {"--rails"})


def test_notes_are_about_existing_patterns(known):
    notes = tomllib.loads((DOCS / "reference" / "notes.toml").read_text(encoding="utf-8"))
    names = {entry.name for entry in (*known.patterns, *known.backends)}
    assert set(notes) - {"page"} <= names


def shell_lines(page: Path) -> Iterator[str]:
    """Yields crosscut's command lines in a page's shell blocks, with continuation lines joined."""
    for block in re.findall(r"^```sh\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            # Ignores text before crosscut: a path, a script that runs it, `exec`.
            command = re.search(r"(?:^|[\s/])crosscut (?=[a-z-])(.*)", re.split(r"(?:^|\s)# ", line)[0])
            if command:
                yield re.split(r"\s(?:[|>]|&&)\s", command[1])[0]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_program_accepts_every_command_line_shown(page, known, capsys):
    for line in shell_lines(page):
        words = shlex.split(line)
        status = 0
        try:
            cli.build_parser(only=words[0]).parse_args(words)
        except SystemExit as ended:
            status = ended.code or 0
        assert status == 0, f"{line}\n{capsys.readouterr().err}"


def test_exit_statuses_in_the_reference_equal_the_program_s():
    page = (DOCS / "reference" / "cli.md").read_text(encoding="utf-8")
    from crosscut.base import errors
    from crosscut.cli.compare import EXIT_UNDECIDED

    listed = {
        int(status) for status in re.findall(r"^\| (\d+) \|", section(page, "Exit status"), re.MULTILINE)
    }
    assert listed == {EXIT_UNDECIDED} | {
        value
        for name, value in vars(errors).items()
        if re.fullmatch(r"EXIT_[A-Z]+", name) and isinstance(value, int)
    }


LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


@pytest.mark.parametrize(
    "page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda page: str(page.relative_to(ROOT))
)
def test_links_within_the_repository_are_not_broken(page):
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), target
        if anchor:
            assert anchor in anchors(file), target


def anchors(page: Path) -> set[str]:
    text = page.read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    slugs = {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}
    return slugs | set(re.findall(r"^\(([\w-]+)\)=$", text, re.MULTILINE))


def test_generated_pages_are_up_to_date_with_patterns_and_backends(known, monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    import generate

    try:
        made = generate.pages()
    finally:
        sys.modules.pop("generate", None)
        sys.modules.pop("routes", None)
    for name in ("patterns.md", "backends.md"):
        on_disk = (DOCS / "reference" / name).read_text(encoding="utf-8")
        assert made[name] == on_disk, f"docs/reference/{name}: run python docs/generate.py"
