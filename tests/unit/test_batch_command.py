"""What `--batch` puts into the script."""

from __future__ import annotations

from crosscut.cli.batch import batch_command


def test_words_for_sbatch_and_the_flag_itself_stay_out() -> None:
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
