"""Runs made of real output of other programs (tests/golden/imports): figures, damage, and what is refused."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from importing import FILES, changed, parsed, times

from crosscut.base.errors import UsageError
from crosscut.cli import main
from crosscut.imports import output
from crosscut.imports.formats import FORMATS
from crosscut.run import fsck
from crosscut.run.run import Run

READABLE = (
    "osu_latency.txt", "osu_bw.txt", "osu_bibw.txt", "osu_bw-validated.txt", "osu_latency-percentiles.txt",
    "mpigraph-one-machine.txt", "mpigraph-slow-host.txt", "iperf3-two-streams.json", "iperf3-both-ways.json",
    "iperf3-udp.json", "iperf3-server.json", "netpipe.out", "sockperf.csv", "hp2p-one-machine.html",
    "hp2p-slow-host.html", "perftest-ib_write_bw.txt", "perftest-ib_write_bw-gbits.txt",
    "perftest-ib_write_bw-two-pairs.txt", "perftest-ib_send_bw-both-ways.txt", "perftest-ib_read_bw.txt",
    "perftest-ib_write_lat.txt", "perftest-ib_write_lat-duration.txt", "perftest-ib_write_lat-each.txt",
)  # fmt: skip
TABLES = (
    "osu_latency.txt", "osu_bw.txt", "netpipe.out", "sockperf.csv", "perftest-ib_write_bw.txt",
    "perftest-ib_write_lat.txt",
)  # fmt: skip


def page_of(run: str, folder: Path) -> str:
    """Returns what a reader sees of a run's page."""
    assert main(["report", run, "-o", "page.html", "--force"]) == 0
    page = (folder / "page.html").read_text(encoding="utf-8")
    return html.unescape(re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.DOTALL))


def refuse_unknowable(text: str) -> None:
    assert "not by crosscut" in text
    assert not re.search(r"\b(skew|clock|warm)", text.replace('"skew_seconds": null', ""))


@pytest.mark.parametrize("name", READABLE)
def test_every_sample_becomes_an_intact_run_that_can_be_shown_and_exported(
    name: str, imported: Callable[..., Run], capsys: pytest.CaptureFixture[str]
) -> None:
    run = imported(name)
    assert fsck.check(run.path).ok
    for words in (["show"], ["show", "--findings"], ["show", "--json"], ["export"], ["fsck"]):
        assert main([words[0], "run.zarr", *words[1:]]) == 0
    refuse_unknowable(capsys.readouterr().out)


@pytest.mark.parametrize(
    "name", ["osu_bw.txt", "mpigraph-slow-host.txt", "iperf3-both-ways.json", "hp2p-slow-host.html"]
)
def test_pages_say_who_measured_and_what_is_lacking_even_if_redacted(
    name: str, imported: Callable[..., Run], tmp_path: Path
) -> None:
    lacks = imported(name).attributes["imported"]["lacks"]  # type: ignore[index]
    for option in ([], ["--redact"]):
        assert main(["report", "run.zarr", "-o", "page.html", "--force", *option]) == 0
        page = (tmp_path / "page.html").read_text(encoding="utf-8")
        visible = html.unescape(re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.DOTALL))
        refuse_unknowable(visible)
        assert all(lack in visible for lack in lacks)
        assert (name in page) == (not option)


def test_pages_of_one_pair_rank_no_routes_and_add_up_its_streams(
    imported: Callable[..., Run], tmp_path: Path
) -> None:
    imported("osu_bw.txt")
    assert "The slowest" not in page_of("run.zarr", tmp_path)
    imported("iperf3-two-streams.json")
    page = page_of("run.zarr", tmp_path)
    assert "all streams together" in page
    assert "The route, 128 KiB messages" in page


@pytest.mark.parametrize("name", TABLES)
def test_a_table_that_is_cut_off_anywhere_keeps_its_whole_rows_and_says_so(name: str, tmp_path: Path) -> None:
    whole, text = parsed(FILES / name), (FILES / name).read_bytes()
    there = {size: times(whole, at) for at, size in enumerate(whole.size_bytes)}
    kept = 0
    for end in range(1, len(text), 3):
        (tmp_path / name).write_bytes(text[:end])
        try:
            part = parsed(tmp_path / name)
        except UsageError:
            continue
        kept += 1
        for at, size in enumerate(part.size_bytes):
            seconds = times(part, at)
            assert seconds == there[size][: len(seconds)]
        is_less = part.message_seconds.size < whole.message_seconds.size
        cut_in_a_line = not text[:end].endswith(b"\n") and text[end : end + 1] != b"\n"
        assert any("ends within" in said for said in part.left_out) or not (is_less and cut_in_a_line)
    assert kept > 10


@pytest.mark.parametrize("name", ["mpigraph-slow-host.txt", "iperf3-two-streams.json", "hp2p-slow-host.html"])
def test_a_matrix_or_document_that_is_cut_off_is_refused(name: str, tmp_path: Path) -> None:
    text = (FILES / name).read_bytes().rstrip()
    for end in range(0, len(text) - len("END mpiGraph") - 3, 37):
        (tmp_path / name).write_bytes(text[:end])
        with pytest.raises(UsageError, match=re.escape(name)):
            FORMATS[name.split("-")[0]].parse(output.read(tmp_path / name))


@pytest.mark.parametrize(
    ("name", "edit", "words"),
    [
        ("osu_bw.txt", ("2591.43", "nan"), "line 25: the figure in MB/s is 'nan', which is no number"),
        ("osu_bw.txt", ("2591.43", "-1.0"), "line 25: the figure in MB/s is -1.0; it must be more than 0"),
        ("osu_bw.txt", ("2591.43", "0.00"), "line 25: the figure in MB/s is 0.00"),
        ("osu_bw.txt", ("2591.43", "1e400"), "line 25"),
        ("osu_bw.txt", ("1048576 ", "524288  "), "line 25: size 524288 again; it is in line 24 already"),
        ("osu_bw.txt", ("1048576 ", "99999999999999999999 "), "line 25: the size is"),
        ("osu_bw.txt", ("1048576 ", "1048576x"), "line 25: the size is '1048576x'"),
        ("osu_bw.txt", ("524288 ", "# OSU MPI Latency Test v7.4\n524288 "), "line 24: another table"),
        ("osu_bw.txt", ("# Size      Bandwidth (MB/s)", "# Size      Latency (us)"), "no column in MB/s"),
        ("osu_bw-validated.txt", ("28.24              Pass", "28.24              Fail"), "wrong bytes"),
        ("osu_latency.txt", ("2257.11", "1e30"), "line 25: a time of 1e+24 s is impossible"),
        ("netpipe.out", ("1.048231   0.00000728", "8.385848   0.00000728"), "line 1: 1 bytes at 8.38585"),
        ("mpigraph-slow-host.txt", ("Procs\t12", "Procs\t11"), "names of ranks 0 to 10"),
        ("mpigraph-slow-host.txt", ("Procs\t12", "Procs\t99999999"), "99,999,999 ranks"),
        ("mpigraph-slow-host.txt", ("r06:6 from", "r05:6 from"), "the row 'r06:6 from'"),
        ("mpigraph-slow-host.txt", ("Window\t4\n", ""), "no Window follows"),
        ("mpigraph-slow-host.txt", ("1185.747", "0.000"), "line 52: the rate of column 10 is 0.000"),
        ("mpigraph-slow-host.txt", ("1185.747", "inf"), "line 52: the rate of column 10 is 'inf'"),
        ("iperf3-two-streams.json", ('"bytes":\t1175715840', '"bytes":\t-5'), "streams[0].bytes: -5 is"),
        ("iperf3-two-streams.json", ('"bytes":\t1175715840', '"bytes":\tNaN'), "NaN is no number from 0 "),
        ("iperf3-two-streams.json", ('"blksize":\t131072', '"blksize":\t0'), "start.test_start.blksize"),
        ("hp2p-slow-host.html", ("1187.43", "-1.00"), "line 57: the rate of rank 0 with 11 is -1.00"),
        ("hp2p-slow-host.html", ("1187.43", "inf"), "line 57: the rate of rank 0 with 11 is 'inf'"),
        ("hp2p-slow-host.html", ("[ 0.00, 1187.81", "[ 1.00, 1187.81"), "rank 0 has a rate with itself"),
        ("hp2p-slow-host.html", ('"r11", ', ""), "12 rows of rates for 11 ranks"),
        ("hp2p-slow-host.html", ("Message size: 1048576", "Message size: 0"), "line 15: 'Message size: 0"),
        ("hp2p-slow-host.html", ("var bandwidth", "var bisection_bandwidth"), "without -monitoring"),
        ("hp2p-one-machine.html", ("46.20, 0.00, 13.84, 70.66", "0.00, 0.00, 0.00, 0.00"),
         "no pair with rank 1 was drawn"),
        ("perftest-ib_write_bw.txt", ("   16.30              13.23", "   16.30              26.46"),
         "line 35: BW average 26.46 and MsgRate 0.001693 are not of the same messages of 8192 bytes"),
        ("perftest-ib_write_bw.txt", ("0.000495", "-0.00495"), "line 23: a rate is -0.00495"),
        ("perftest-ib_write_bw.txt", ("MB/sec", "kB/sec"), "line 22: unknown columns"),
        ("perftest-ib_write_bw.txt", (" 4          20  ", " 2          20  "), "size 2 again"),
        ("perftest-ib_write_bw.txt", ("RDMA_Write BW", "Atomic FETCH_AND_ADD BW"), "line 2: 'Atomic"),
        ("perftest-ib_write_lat.txt", ("26700.97", "nan"), "line 23: the median in usec is 'nan'"),
        ("perftest-ib_write_lat-each.txt", ("#, usec", "#, cycles"), "times in cycles, not usec"),
        ("sockperf.csv", ("33.835", "-33.835"), "line 22: the latency is -33.835"),
        ("sockperf.csv", ("--reply-every=1", "--reply-every=100"), "sockperf under-load"),
    ],
)  # fmt: skip
def test_what_no_measurement_gives_is_refused_with_file_and_line(
    name: str, edit: tuple[str, str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    file = changed(tmp_path, name, edit)
    assert main(["import", str(file)]) == 2
    error = capsys.readouterr().err
    assert f"error: {file}" in error
    assert words in error
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "it is empty"),
        (b"\x7fELF\0\0", "it is not text"),
        (b"hello\n", "not the output of a program that crosscut reads .osu, mpigraph, hp2p, "),
        (
            b"START mpiGraph v1.5\n# OSU MPI Latency Test v7.4\n",
            "several formats; give --format osu or mpigr",
        ),
        (b'{"start": {"version": ' + b"[" * 100_000, "nested too deeply|not valid JSON"),
    ],
)
def test_other_files_are_refused(
    content: bytes, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_bytes(content)
    assert main(["import", "file"]) == 2
    assert re.search(words, capsys.readouterr().err)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("osu_multi_lat.txt", "'OSU MPI Multi Latency Test' has no figures of single messages"),
        ("iperf3-refused.json", "iperf3 says: 'unable to connect to server: Connection refused'"),
        ("perftest-ib_read_lat.txt", "line 3: a read takes the time of a short request and of a long answer"),
        ("perftest-ib_write_bw-margin.txt", "line 23: both BW average and MsgRate are 0"),
        ("sockperf-screen.txt", "import the file that 'sockperf ping-pong --full-log FILE' writes"),
    ],
)
def test_output_without_the_figures_of_a_run_is_refused(
    name: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["import", str(FILES / name)]) == 2
    assert words in capsys.readouterr().err


def test_a_huge_file_is_refused_without_reading_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with (tmp_path / "huge").open("wb") as file:
        os.truncate(file.fileno(), 10 << 30)
    assert main(["import", str(tmp_path / "huge")]) == 2
    assert "larger than 128 MiB" in capsys.readouterr().err


def test_what_was_cut_off_or_killed_is_told_in_the_run(imported: Callable[..., Run], tmp_path: Path) -> None:
    (tmp_path / "cut.txt").write_bytes((FILES / "osu_bw.txt").read_bytes()[:-3])
    lacks = imported("cut.txt").attributes["imported"]["lacks"]  # type: ignore[index]
    assert lacks[0] == "the file ends within line 25: that size is left out"
    lacks = imported("osu_latency-percentiles.txt").attributes["imported"]["lacks"]  # type: ignore[index]
    assert "columns left out: P50 Tail Lat(us), P99 Tail Lat(us)" in lacks
    assert any("BAD TERMINATION" in one for one in lacks)


@pytest.mark.parametrize("name", ["perftest-ib_write_bw.txt", "perftest-ib_write_lat-each.txt"])
def test_a_table_of_perftest_that_no_line_closes_may_lack_sizes(
    name: str, imported: Callable[..., Run], tmp_path: Path
) -> None:
    said = "the table may lack sizes: no line of dashes closes it"
    assert said not in imported(name).attributes["imported"]["lacks"]  # type: ignore[index]
    lines = (FILES / name).read_text().splitlines(keepends=True)
    (tmp_path / "cut.txt").write_text("".join(lines[:-1]))
    assert said in imported("cut.txt").attributes["imported"]["lacks"]  # type: ignore[index]


def test_a_folder_is_no_file_to_import(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", str(tmp_path)]) == 2
    assert f"{tmp_path} is a directory; name the output of a benchmark" in capsys.readouterr().err


def test_odd_names_of_hosts_stay_names(imported: Callable[..., Run], tmp_path: Path) -> None:
    odd = "=n\x1b]0;title\x07 ü:"
    run = imported(str(changed(tmp_path, "mpigraph-slow-host.txt", ("r06:", f"{odd}:"))))
    assert run.node_names[6] == odd
    assert main(["show", "run.zarr"]) == 0


def outputs(folder: Path, name: str, text: str, count: int) -> list[str]:
    """Files of the same figures that differ in empty lines: the same output twice would be refused."""
    files = [folder / f"{name}-{number}.txt" for number in range(count)]
    for number, file in enumerate(files):
        file.write_text(text + "\n" * number)
    return [str(file) for file in files]


def test_the_same_output_is_no_repetition(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(FILES / "osu_bw.txt")
    assert main(["import", file, file, "-o", str(tmp_path / "x.zarr")]) == 2
    assert "are the same, so they are not two measurements" in capsys.readouterr().err


def test_outputs_of_repeated_runs_are_repetitions_of_one_run(
    imported: Callable[..., Run], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shorter = changed(tmp_path, "osu_bw.txt", ("1048576              2591.43\n", ""))
    assert "1048576" not in shorter.read_text()
    run = imported(*outputs(tmp_path, "latency", (FILES / "osu_latency.txt").read_text(), 2))
    assert run.repetitions == 2
    assert main(["import", str(FILES / "osu_bw.txt"), str(FILES / "osu_latency.txt"), "-o", "x.zarr"]) == 2
    assert "not repetitions of one measurement: program: osu_bw 7.4 and osu_" in capsys.readouterr().err
    assert main(["import", str(FILES / "osu_bw.txt"), str(shorter), "-o", "two.zarr"]) == 0
    two = Run.open(Path("two.zarr"))
    assert two.dataset["repetitions_done"].values[-2:, 0].tolist() == [2, 1]
    assert fsck.check(two.path).ok
    lacks = two.attributes["imported"]["lacks"]  # type: ignore[index]
    assert f"{shorter.name} lacks 1 of the 21 sizes: 1 MiB" in lacks


def test_a_few_outputs_on_each_side_can_be_compared(
    imported: Callable[..., Run], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (FILES / "mpigraph-slow-host.txt").read_text()
    before = outputs(tmp_path, "before", text, 5)
    better = outputs(tmp_path, "better", re.sub(r"\b4[67]\d\.", "1150.", text), 5)
    assert main(["import", *before, "-o", "before.zarr"]) == 0
    assert main(["import", *better, "-o", "after.zarr"]) == 0
    assert main(["compare", "after.zarr", "before.zarr"]) == 1
    told = capsys.readouterr().out
    assert "r06" in told
    assert "two single runs" not in told
    imported("mpigraph-slow-host.txt")
    assert main(["compare", "run.zarr", "run.zarr"]) == 2
    assert "import the outputs of several runs of the program together" in capsys.readouterr().err


def test_hosts_can_be_named(imported: Callable[..., Run], capsys: pytest.CaptureFixture[str]) -> None:
    assert imported("netpipe.out", "--hosts", "n1, n2").node_names == ("n1", "n2")
    assert main(["import", str(FILES / "netpipe.out"), "-o", "x.zarr", "--hosts", "n1,n1"]) == 0
    assert "ranks share a host (n1): messages between them crossed no network" in capsys.readouterr().out
    assert main(["import", str(FILES / "netpipe.out"), "-o", "y.zarr", "--hosts", "n1"]) == 2
    assert "--hosts names 1 host, but NetPIPE 3 measured between 2 ranks" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("typed", "start"),
    [("2026-03-12T02:30", "2026-03-12T02:30:00Z"), ("2026-03-12T02:30+01:00", "2026-03-12T01:30:00Z")],
)
def test_the_time_of_a_measurement_can_be_given(
    imported: Callable[..., Run], typed: str, start: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "start" not in imported("osu_latency.txt").attributes
    assert main(["history", "add", "x.db", "run.zarr"]) == 2
    assert "import it again with --started TIME" in capsys.readouterr().err
    assert main(["history", "add", "x.db", "."]) == 0
    assert "left out, as nothing says when they were measured" in capsys.readouterr().out
    assert not Path("x.db").exists()
    assert imported("osu_latency.txt", "--started", typed).attributes["start"] == start
    with pytest.raises(SystemExit):
        main(["import", str(FILES / "osu_latency.txt"), "--started", "Monday"])
    assert "'Monday': not a time such as 2026-03-12T02:30" in capsys.readouterr().err


def test_what_exists_is_replaced_only_on_request_and_only_if_it_is_a_run(
    imported: Callable[..., Run], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    imported("osu_bw.txt")
    words = ["import", str(FILES / "osu_latency.txt"), "-o"]
    assert main([*words, "run.zarr"]) == 2
    assert "run.zarr exists; name another run, or replace it with --force" in capsys.readouterr().err
    assert Run.open(tmp_path / "run.zarr").attributes["pattern"]["name"] == "osu_bw"  # type: ignore[index]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("all of it")
    (tmp_path / "link").symlink_to("run.zarr")
    for name in ("mine", "link"):
        assert main([*words, name, "--force"]) == 2
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "all of it"
    assert main([*words, "absent/run.zarr"]) == 2
    assert main([*words, "run.zarr", "--force"]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "mine", "run.zarr"]
