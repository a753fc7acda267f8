"""Real ranks over TCP count the bytes that they move, and the processor time that it takes."""

import json

import pytest

from crosscut import cli
from crosscut.base import core
from crosscut.base.core import CoreError
from crosscut.run.run import Run


@pytest.fixture(autouse=True)
def needs_core():
    try:
        core.load()
    except CoreError as error:
        pytest.skip(f"needs the core: {error}")


def measured(folder, *words):
    out = folder / f"{words[0]}-{len(list(folder.iterdir()))}.zarr"
    given = ("--repetitions", "3", "--iterations", "5", "--wait", "block", "--quiet", "--out", str(out))
    assert cli.main(["run", *words, *given]) == 0
    return out


def test_bytes_are_those_of_the_pattern_and_both_ends_agree(tmp_path):
    run = Run.open(measured(tmp_path, "aapc", "-n", "4", "--size", "1KB,100KB"))
    small, large = run.attributes["effort"]
    assert (small["size"], large["size"]) == (1000, 100_000)
    for one in (small, large):
        # 3 phases, 3 repetitions, 5 times each.
        assert one["sent_bytes"] == [3 * 3 * 5 * one["size"]] * 4
        assert one["received_bytes"] == one["sent_bytes"]
        for processor, elapsed in zip(one["processor_seconds"], one["elapsed_seconds"], strict=True):
            assert processor > 0
            assert elapsed > 0


def test_a_rank_that_only_receives_has_sent_nothing_but_worked(tmp_path):
    run = measured(tmp_path, "pingpong", "-n", "2", "--mode", "stream", "--count", "8", "--size", "64KB")
    (one,) = Run.open(run).attributes["effort"]
    assert one["sent_bytes"] == [3 * 5 * 8 * 64_000, 0]
    assert one["received_bytes"] == one["sent_bytes"][::-1]
    assert min(one["processor_seconds"]) > 0


def test_show_tells_what_a_gigabyte_cost_and_loggp_apart(tmp_path, capsys):
    sizes = ("--size", "1B,1KB,16KB,64KB")
    bounce = measured(tmp_path, "pingpong", "-n", "2", *sizes)
    stream = measured(tmp_path, "pingpong", "-n", "2", "--mode", "stream", "--count", "32", *sizes)
    capsys.readouterr()
    assert cli.main(["show", str(bounce), str(stream)]) == 0
    said = capsys.readouterr().out
    assert "Processor time for moving bytes" in said
    assert "LogGP, from ping-pong and stream together" in said
    assert "processor time" in said
    assert cli.main(["show", str(bounce), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert len(document["effort"]) == 4
    assert document["effort"][0]["processor_seconds_per_gigabyte"] > 0
    assert [one["rank"] for one in document["effort"][0]["ranks"]] == [0, 1]


def test_runs_that_move_no_bytes_have_no_effort(tmp_path):
    for words in (("aapc", "--backend", "null", "-n", "2"), ("aapc", "--on", "sim:xibalba-er16", "-n", "4")):
        out = tmp_path / f"{words[2].replace(':', '-')}.zarr"
        assert cli.main(["run", *words, "--size", "1KB", "--quiet", "--out", str(out)]) == 0
        assert "effort" not in Run.open(out).attributes
