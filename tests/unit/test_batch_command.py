"""The script that `--batch` writes."""

from __future__ import annotations

from crosscut.cli.batch import batch_command


def test_options_for_sbatch_and_the_flag_itself_are_left_out() -> None:
    words = [
        "crosscut",
        "run",
        "aapc",
        "--batch",
        "--launcher-args",
        "-N 2",
        "--launcher-args=-p x",
        "-n",
        "4",
    ]
    program, *rest = batch_command(words)
    assert rest == ["run", "aapc", "-n", "4"]
    assert program.startswith("/")
