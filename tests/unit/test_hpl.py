"""HPL's input, and outputs of hpcc that are damaged, truncated or of another kind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crosscut.base.errors import CrosscutError, UsageError
from crosscut.places import launchers
from crosscut.workloads.applications import WorkloadError
from crosscut.workloads.hpl import input as asking
from crosscut.workloads.hpl import output, program, run
from crosscut.workloads.hpl import report as telling
from crosscut.workloads.hpl.input import HplInput, Memory
from crosscut.workloads.hpl.run import HplRun, HplWhere

GOLDEN = (Path(__file__).resolve().parents[1] / "golden" / "hpl" / "hpccoutf.txt").read_text(encoding="utf-8")
RESIDUAL = "0.0052710 ...... PASSED"


def line_of(text: str, start: str) -> int:
    return 1 + next(i for i, line in enumerate(text.splitlines()) if line.startswith(start))


def test_the_grid_of_ranks_is_as_square_as_possible_with_no_more_rows_than_columns():
    assert [asking.grid_of(ranks) for ranks in (1, 2, 4, 6, 7, 12, 16)] == [
        (1, 1), (1, 2), (2, 2), (2, 3), (1, 7), (3, 4), (4, 4),
    ]  # fmt: skip


def test_a_matrix_fills_the_memory_in_whole_blocks():
    assert asking.order_for(2e9, 80) == 15_760  # 8 · 15,811² is the most below 2 · 10⁹
    assert asking.order_for(8 * 150**2, 80) == 150  # 80 would be too small
    with pytest.raises(UsageError, match="cannot hold a matrix"):
        asking.order_for(8 * 99**2, 80)


def test_memory_is_a_share_or_an_amount():
    assert asking.parse_memory("40%") == Memory(share=0.4)
    assert asking.parse_memory("2GB") == Memory(in_bytes=2_000_000_000)


@pytest.mark.parametrize("text", ["0%", "91%", "100%", "-5%", "x", "", "2 parsecs"])
def test_an_invalid_amount_of_memory_is_refused(text):
    with pytest.raises(UsageError):
        asking.parse_memory(text)


def test_free_memory_is_the_kernel_s(tmp_path):
    file = tmp_path / "meminfo"
    file.write_text("MemTotal:       16 kB\nMemAvailable:    3 kB\n")
    assert asking.free_bytes(file) == 3072
    file.write_text("MemTotal:       16 kB\n")
    with pytest.raises(CrosscutError, match="no MemAvailable"):
        asking.free_bytes(file)
    file.write_text("MemAvailable:   many\n")
    with pytest.raises(CrosscutError, match="give -N instead"):
        asking.free_bytes(file)


def test_broadcasts_go_by_name_or_by_hpl_s_number():
    assert asking.parse_broadcasts("1rg,3,1rg") == ("1rg", "2rM")
    with pytest.raises(UsageError, match=r"no broadcast '7'; there is 1rg \(increasing ring\)"):
        asking.parse_broadcasts("7")


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (asking.parse_order, "0"), (asking.parse_order, "99"), (asking.parse_order, "-1"),
        (asking.parse_order, "1e3"),
        (asking.parse_order, "99999999999999"), (asking.parse_blocks, "80,"), (asking.parse_blocks, "0"),
        (asking.parse_blocks, "2000"), (asking.parse_grid, "4"), (asking.parse_grid, "0x4"),
        (asking.parse_grid, "2x"), (asking.parse_grid, "2×2"), (asking.parse_broadcasts, ""),
        # Nine valid digits, and more.
        (asking.parse_order, "0001000009999999"), (asking.parse_blocks, "0000000019999"),
        (asking.parse_grid, "00000000199999x2"),
        # More digits than int() accepts.
        (asking.parse_order, "0" * 5000), (asking.parse_blocks, "1" * 5000),
        (asking.parse_grid, "1" * 5000 + "x1"),
    ],
)  # fmt: skip
def test_an_invalid_number_is_refused(parse, text):
    with pytest.raises(UsageError):
        parse(text)


def test_the_input_file_has_each_value_on_the_line_where_hpcc_looks_for_it():
    """Lines as in hpcc's README, section 3."""
    lines = asking.input_file(HplInput(1000, (64, 128), 2, 3, ("1rg", "2rM"), 3)).splitlines()

    def values(number: int, count: int) -> list[float]:
        return [float(word) for word in lines[number - 1].split()[:count]]

    assert len(lines) == 36
    assert values(5, 1) + values(6, 1) == [1, 1000]
    assert values(7, 1) + values(8, 2) == [2, 64, 128]
    assert values(10, 1) + values(11, 1) + values(12, 1) == [1, 2, 3]
    assert values(13, 1) == [16]
    assert values(22, 1) + values(23, 6) == [6, 0, 3, 0, 3, 0, 3]
    assert values(33, 1) == values(35, 1) == [0]


def test_more_repetitions_than_hpcc_takes_are_refused_with_how_many_it_does():
    with pytest.raises(UsageError, match="with 2 of them 10 repetitions each"):
        HplInput(1000, (80,), 2, 2, ("1rg", "1rM"), 11)


def test_an_output_cut_off_anywhere_is_refused_with_its_last_line():
    lines = GOLDEN.splitlines()
    last = line_of(GOLDEN, "End of HPC Challenge tests")
    for count in range(last):
        with pytest.raises(UsageError, match=rf"^cut\.txt:{max(1, count)}: "):
            output.parse("\n".join(lines[:count]) + "\n", "cut.txt")
    assert output.parse("\n".join(lines[:last]), "whole").verified


def test_a_solution_with_a_failed_residual_is_not_verified():
    failed = output.parse(GOLDEN.replace(RESIDUAL, "31.0052710 ...... FAILED", 1), "f")
    assert [one.verified for one in failed.solutions] == [False, *[True] * 5]
    assert not failed.verified
    shown = telling.as_json(HplRun("local", 1, failed))
    assert shown["verified"] is False


@pytest.mark.parametrize("value", ["nan", "inf", "-nan"])
def test_a_residual_that_is_not_a_number_failed_whatever_its_verdict(value):
    failed = output.parse(GOLDEN.replace(RESIDUAL, f"{value} ...... PASSED", 1), "f")
    assert not failed.solutions[0].verified
    json.dumps(telling.as_json(HplRun("local", 1, failed)), allow_nan=False)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("0.36              2.335e-01", "0.36              2.335e+01", "do not belong to one solution"),
        ("0.36              2.335e-01", "0.36              nan", "the rate is 'nan'"),
        ("0.36              2.335e-01", "0.36              -1", "the rate is '-1'"),
        ("0.36              2.335e-01", "0.36              0", "must be above 0"),
        ("0.36              2.335e-01", "x                 2.335e-01", "the time is 'x'"),
        ("500    80     2     2               0.36", "0    80     2     2               0.36", "above 0"),
        (RESIDUAL, "? ...... PASSED", "not a number"),
        ("StarDGEMM_Gflops=3.05179", "StarDGEMM_Gflops=fast", "StarDGEMM_Gflops is 'fast'"),
        ("CommWorldProcs=4", "CommWorldProcs=0", "CommWorldProcs is 0"),
        ("CommWorldProcs=4", "CommWorldProcs=2.5", "CommWorldProcs is 2.5"),
        ("MinPingPongBandwidth_GBytes=0.0112359", "MinPingPongBandwidth_GBytes=0", "GBytes is 0"),
        ("RandomlyOrderedRingBandwidth_GBytes", "Nothing", "has no RandomlyOrderedRingBandwidth_GBytes"),
    ],
)  # fmt: skip
def test_inconsistent_output_is_named_with_its_line(before, after, said):
    head, mark, tail = GOLDEN.rpartition("Begin of HPL section")
    assert before in tail
    with pytest.raises(UsageError, match=rf"^f:\d+: .*{said}"):
        output.parse(head + mark + tail.replace(before, after, 1), "f")


def test_a_solution_without_its_residual_is_named_by_its_own_line():
    lines = GOLDEN.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("||Ax-b||_oo/(eps"))
    with pytest.raises(UsageError, match=rf"^f:{first - 1}: a solution without its residual"):
        output.parse("\n".join(lines[:first] + lines[first + 1 :]), "f")


@pytest.mark.parametrize("text", ["", "\0" * 100, "Begin of HPL section", "W" * 10_000, "{}", "a=1"])
def test_text_that_is_not_hpcc_s_is_refused(text):
    with pytest.raises(UsageError, match=r"^f:1"):
        output.parse(text, "f")


def test_a_missing_or_endless_file_is_refused(tmp_path):
    with pytest.raises(UsageError, match="there is no such file"):
        output.load(tmp_path / "none.txt")
    with pytest.raises(UsageError, match="is it an output of hpcc"):
        output.load(Path("/dev/zero"))


def test_the_last_of_several_runs_in_a_file_counts():
    other = GOLDEN.replace("CommWorldProcs=4", "CommWorldProcs=8")
    assert output.parse(GOLDEN + other, "f").ranks == 8
    assert len(output.parse(GOLDEN + other, "f").solutions) == 6


def test_a_truncated_last_run_is_not_replaced_by_the_previous_one():
    with pytest.raises(UsageError, match="no section of HPL"):
        output.parse(GOLDEN + "".join(GOLDEN.splitlines(keepends=True)[:100]), "f")


def test_escape_sequences_are_shown_as_text():
    with pytest.raises(UsageError) as caught:
        output.parse(GOLDEN.replace("0.36              2.335e-01", "0.36              \x1b[2J"), "f")
    assert str(caught.value).isprintable()
    with pytest.raises(UsageError) as caught:
        output.parse("HPL ERROR \x1b[2J\n>>> Need at least 4 processes <<<\n", "f")
    assert "Need at least 4 processes" in str(caught.value)
    assert str(caught.value).isprintable()


def test_one_rank_alone_has_no_rings():
    """hpcc writes -1 for figures that it did not measure."""
    alone = GOLDEN.replace("CommWorldProcs=4", "CommWorldProcs=1")
    alone = alone.replace("MinPingPongLatency_usec=14.4184", "MinPingPongLatency_usec=-1")
    assert output.parse(alone, "f").rings is None
    assert telling.as_json(HplRun("local", 1, output.parse(alone, "f")))["rings"] is None


def test_repetitions_become_a_row_with_a_median_and_a_deviation():
    rows = telling.rows(output.parse(GOLDEN, "f").solutions)
    assert [len(row.results) for row in rows] == [3, 3]
    assert rows[0].seconds == sorted(one.seconds for one in rows[0].results)[1]
    assert telling.rows(rows[0].results[:1])[0].deviation_seconds is None


@pytest.mark.parametrize(
    ("libraries", "mpi"),
    [
        ("libmpi.so.40 => /lib/libmpi.so.40 (0x1)", launchers.OPEN_MPI),
        ("libmpich.so.12 => /lib/libmpich.so.12 (0x1)", launchers.MPICH),
        ("libmpi.so.12 => /lib/libmpi.so.12 (0x1)", launchers.MPICH),
        ("libmpi_abi.so.1 => not found", launchers.MPICH),
        ("libc.so.6 => /lib/libc.so.6 (0x1)", ""),
    ],
)
def test_the_mpi_of_hpcc_is_recognised_by_its_libraries(tmp_path, monkeypatch, libraries, mpi):
    ldd = tmp_path / "ldd"
    ldd.write_text(f"#!/bin/sh\necho '{libraries}'\n")
    ldd.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert launchers.linked_with(Path("/bin/true")) == mpi


def test_a_launcher_is_named_by_its_real_folder(tmp_path, monkeypatch):
    (tmp_path / "usr").mkdir()
    launcher = tmp_path / "usr" / "mpiexec"
    launcher.write_text("#!/bin/sh\necho 'mpiexec (OpenRTE) 4.1.4'\n")
    launcher.chmod(0o755)
    (tmp_path / "bin").symlink_to(tmp_path / "usr")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    found = program.launcher_for(program.HplProgram(Path("/hpcc"), launchers.OPEN_MPI), "")
    assert found.program == str(launcher)
    with pytest.raises(UsageError, match=r"belongs to Open MPI, but /hpcc is linked with MPICH"):
        program.launcher_for(program.HplProgram(Path("/hpcc"), launchers.MPICH), "mpiexec")


def test_without_hpcc_the_error_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.delenv(program.VARIABLE, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "apt install hpcc" in str(program.unavailable())
    monkeypatch.setenv(program.VARIABLE, str(tmp_path / "none"))
    assert "there is no such program" in str(program.unavailable())


def test_ranks_that_ran_alone_give_no_result(tmp_path):
    """GOLDEN has four ranks, but eight were requested."""
    written = tmp_path / "hpccoutf.txt"
    written.write_text(GOLDEN, encoding="utf-8")
    asked = HplInput(300, (64,), 2, 4, ("1ring",), 1)
    with pytest.raises(WorkloadError, match=r"hpcc ran with 4 ranks, not 8.*each rank ran alone"):
        run._result(asked, HplWhere(), written, "")
