"""`crosscut completion`: prints a script that completes commands, patterns and options."""

from __future__ import annotations

import argparse

from crosscut.base.errors import EXIT_OK, UsageError

EPILOG = """
install:
  bash   crosscut completion bash > ~/.local/share/bash-completion/completions/crosscut
  zsh    crosscut completion zsh > "${fpath[1]}/_crosscut"
  fish   crosscut completion fish > ~/.config/fish/completions/crosscut.fish

The script holds the patterns and parameters of the core that is installed now: print it again after an
update.
"""

SHELLS = ("bash", "zsh", "fish")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="Shell to complete for.")


def execute(args: argparse.Namespace) -> int:
    from crosscut.cli import build_parser  # here, because it imports this module

    try:
        import shtab
    except ImportError as error:
        raise UsageError("completion needs the package shtab: pip install shtab") from error
    print(shtab.complete(build_parser(), shell=args.shell))
    return EXIT_OK
