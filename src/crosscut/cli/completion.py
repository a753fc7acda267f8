"""`crosscut completion`: prints a script that completes commands, patterns, options and their values.

What an option takes is known by its name in the help (metavar): NETWORK, PLACE, LAB, FILE, DIR.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from crosscut.base.errors import EXIT_OK, UsageError

EPILOG = """
install:
  bash   crosscut completion bash > ~/.local/share/bash-completion/completions/crosscut
  zsh    crosscut completion zsh > "${fpath[1]}/_crosscut"
  fish   crosscut completion fish > ~/.config/fish/completions/crosscut.fish

The script holds the patterns, parameters and networks that are installed now: print it again after an
update. For bash it takes the colon out of COMP_WORDBREAKS, since places have one.
"""

SHELLS = ("bash", "zsh", "fish")
_FILES = ("FILE", "PATH", "SPEC", "TRACE", "SOURCE", "TARGET")
_FOLDERS = ("DIR", "FOLDER", "PROFILE")
# Prints the names of the labs.
_LABS = 'crosscut lab status --json 2>/dev/null | grep -o \'{"name": "[^"]*\' | cut -d\'"\' -f4'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="Shell to complete for.")


def execute(args: argparse.Namespace) -> int:
    from crosscut.cli import build_parser  # here, because it imports this module

    try:
        import shtab
    except ImportError as error:
        raise UsageError("completion needs the package shtab: pip install shtab") from error
    parser = build_parser()
    values = {
        **dict.fromkeys(_FILES, shtab.FILE), **dict.fromkeys(_FOLDERS, shtab.DIRECTORY),
        "NETWORK": _network(), "PLACE": _place(), "LAB": _lab(),
    }  # fmt: skip
    for action in _actions(parser):
        if (value := values.get(str(action.metavar))) is not None and action.choices is None:
            action.complete = value  # type: ignore[attr-defined]
    print(shtab.complete(parser, shell=args.shell))
    return EXIT_OK


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yields every option and argument of a parser and of the commands below it."""
    for action in parser._actions:  # noqa: SLF001
        yield action
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for below in action.choices.values():
                yield from _actions(below)


def _network() -> dict[str, Any]:
    """A network of the catalogue, or a file."""
    names = " ".join(_networks())
    return _value("network_or_file", {
        "bash": f'compgen -W "{names}" -- "$1"; compgen -f -- "$1"',
        "zsh": f"compadd -- {names}; _files",
        "fish": f"string split ' ' '{names}'; __fish_complete_path (commandline -ct)",
    })  # fmt: skip


def _place() -> dict[str, Any]:
    """A place with its argument; networks and labs by name. Bash must not divide words at colons."""
    from crosscut.places import all_places, typed_as

    networks = {"NETWORK": _networks()}
    names = " ".join(
        f"{typed_as(place).partition(':')[0]}{ending}"
        for place in all_places()
        for ending in [":" * bool(place.argument), *(f":{name}" for name in networks.get(place.argument, ()))]
    )
    labs = f"$({_LABS} | sed 's/^/lab:/')"
    files = 'case "$1" in *:*) compgen -P "${1%%:*}:" -f -- "${1#*:}" ;; esac'
    return _value("place", {
        "bash": f'compgen -W "{names} {labs}" -- "$1"; {files}',
        "zsh": f"compadd -- {names} {labs}",
        "fish": f"string split ' ' '{names}'; {_LABS} | sed 's/^/lab:/'",
    }, before={"bash": 'COMP_WORDBREAKS="${COMP_WORDBREAKS//:}"\n'})  # fmt: skip


def _lab() -> dict[str, Any]:
    return _value("lab", {
        "bash": f'compgen -W "$({_LABS})" -- "$1"', "zsh": f"compadd -- $({_LABS})", "fish": _LABS,
    })  # fmt: skip


def _value(name: str, body: dict[str, str], before: dict[str, str] | None = None) -> dict[str, Any]:
    """Completes by a function of each shell."""
    name = f"_crosscut_{name}"
    whole = {
        shell: f"function {name}\n  {text}\nend" if shell == "fish" else f"{name}() {{\n  {text}\n}}"
        for shell, text in body.items()
    }
    return {
        "bash": name, "zsh": name, "fish": f"({name})",
        "preamble": {shell: (before or {}).get(shell, "") + text for shell, text in whole.items()},
    }  # fmt: skip


def _networks() -> list[str]:
    from crosscut.network.description import catalogue_names

    return catalogue_names()
