"""What the figures of other programs mean in a run: units, directions, who is slow (tests/golden/imports)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from importing import FILES, MIB, changed, rates

from crosscut.cli import main
from crosscut.run import fsck
from crosscut.run.run import Run


def test_osu_s_megabytes_are_millions_of_bytes_and_its_latency_half_a_round_trip(
    imported: Callable[..., Run],
) -> None:
    one_way = imported("osu_bw.txt")
    assert rates(one_way)[MIB] == pytest.approx(2591.43e6)
    assert one_way.dataset["peer"].values[0, :, 0].tolist() == [-1, 0]  # from rank 0 to rank 1
    both = imported("osu_bibw.txt")
    assert rates(both)[MIB] == pytest.approx(4067.88e6 / 2)  # OSU adds both directions
    assert float(both.phase_rates(20).max()) == pytest.approx(4067.88e6)  # as the formula does
    latency = imported("osu_latency.txt")
    assert float(latency.message_seconds(0).max()) == pytest.approx(1637.05e-6)
    assert float(latency.phase_rates(0).max()) == pytest.approx(1 / 1637.05e-6)


def test_netpipe_s_megabits_are_of_2_to_the_20_bits(imported: Callable[..., Run]) -> None:
    assert rates(imported("netpipe.out"))[1] == pytest.approx(1.048231 * MIB / 8)


def test_mpigraph_s_rows_are_receivers_and_its_megabytes_of_2_to_the_20_bytes(
    imported: Callable[..., Run],
) -> None:
    run = imported("mpigraph-slow-host.txt")
    assert run.dataset["peer"].values[0, :3, 0].tolist() == [11, 0, 1]  # phase 1: from rank - 1
    seconds = run.message_seconds(0).values[0, 0, 1, 0]  # r01 from r00
    sent, received = (
        float((FILES / "mpigraph-slow-host.txt").read_text().split(f"{row}\t")[1].split("\t")[column])
        for row, column in (("r01:1 to", 2), ("r01:1 from", 0))
    )
    assert seconds == pytest.approx(MIB / (received * MIB))
    assert float(run.rank_seconds(0).values[0, 0, 1]) == pytest.approx(1 / min(sent, received))
    # The cables have 10 Gbit/s = 1,192 MiB/s.
    assert 0.9 * 1.25e9 < np.nanmedian(run.message_rates(0).values) < 1.25e9


def test_hp2p_s_rates_are_of_exchanges_and_a_pair_that_was_never_drawn_has_none(
    imported: Callable[..., Run], tmp_path: Path
) -> None:
    row = "[ 0.00, 1187.81, 1187.83,"
    undrawn = imported(str(changed(tmp_path, "hp2p-slow-host.html", (row, "[ 0.00, 1187.81, 0.00,"))))
    assert fsck.check(undrawn.path).ok
    assert "1 of 132 routes were never drawn" in str(undrawn.attributes["imported"])
    assert undrawn.dataset["peer"].values[9, 0, 0] == -1  # phase 10: rank 0 with rank 2
    run = imported("hp2p-slow-host.html")
    assert run.node_names[6] == "r06"
    assert run.dataset["peer"].values[9, :3, 0].tolist() == [2, 3, 4]
    assert float(run.message_seconds(0).values[0, 9, 0, 0]) == pytest.approx(1 / 1187.83)  # of 1 MiB
    assert float(run.phase_rates(0).max()) == pytest.approx(2 * 476.15 * MIB)  # per rank, both ways
    assert imported("hp2p-one-machine.html").node_names == ("vm",) * 4


def test_perftest_s_rates_are_those_of_its_average_or_of_its_messages_whichever_has_more_digits(
    imported: Callable[..., Run],
) -> None:
    run = imported("perftest-ib_write_bw.txt")
    assert rates(run)[2] == pytest.approx(2 * 495)  # 0.00 MB/sec, 0.000495 Mpps
    assert rates(run)[4 << 20] == pytest.approx(29.67 * MIB)  # 0.000007 Mpps
    assert run.dataset["peer"].values[0, :, 0].tolist() == [-1, 0]  # to the server
    assert rates(imported("perftest-ib_write_bw-gbits.txt"))[512 << 10] == pytest.approx(0.30e9 / 8, rel=0.02)
    both = imported("perftest-ib_send_bw-both-ways.txt")
    assert rates(both)[64 << 10] == pytest.approx(38.76 * MIB / 2, rel=1e-3)
    assert imported("perftest-ib_read_bw.txt").attributes["imported"]["hosts_named"] is False  # type: ignore[index]


def test_perftest_s_latency_is_the_median_or_each_half_round_trip(imported: Callable[..., Run]) -> None:
    assert float(imported("perftest-ib_write_lat.txt").message_seconds(0).max()) == pytest.approx(23041.14e-6)
    seconds = imported("perftest-ib_write_lat-each.txt").message_seconds(0).values[:, 0, 0, 0]
    assert len(seconds) == 29
    assert seconds[:2].tolist() == pytest.approx([34302.8e-6, 24173.4e-6])
    mean = imported("perftest-ib_write_lat-duration.txt").message_seconds(0)
    assert float(mean.max()) == pytest.approx(31391.83e-6)


def test_a_list_of_perftest_that_is_sorted_or_cut_off_is_told(
    imported: Callable[..., Run], tmp_path: Path
) -> None:
    each = (FILES / "perftest-ib_write_lat-each.txt").read_text().splitlines(keepends=True)
    first, last = each.index("1, 34302.8\n"), each.index("29, 36051\n")
    listed = sorted(each[first : last + 1], key=lambda entry: float(entry.split()[1]))
    (tmp_path / "sorted.txt").write_text("".join([*each[:first], *listed, *each[last + 1 :]]))
    run = imported("sorted.txt")
    assert run.repetitions == 1
    assert "sorted times are left out (-H)" in str(run.attributes["imported"])
    whole = (FILES / "perftest-ib_write_lat.txt").read_text()
    (tmp_path / "cut.txt").write_text("".join([whole, *each[first - 1 : first + 9]]))
    assert "the times listed for it are left out" in str(imported("cut.txt").attributes["imported"])


@pytest.mark.parametrize("name", ["mpigraph-slow-host.txt", "hp2p-slow-host.html"])
def test_the_slow_host_is_found_in_a_matrix(
    name: str, imported: Callable[..., Run], capsys: pytest.CaptureFixture[str]
) -> None:
    imported(name)
    capsys.readouterr()
    assert main(["show", "run.zarr", "--findings", "--json"]) == 0
    (first, *_) = json.loads(capsys.readouterr().out)["findings"]
    assert (first["kind"], first["hosts"]) == ("slow host", ["r06"])
    assert first["effect"]["share"] == pytest.approx(0.4, abs=0.02)


def test_iperf3_s_streams_add_up_and_over_udp_only_what_arrived_counts(imported: Callable[..., Run]) -> None:
    document = json.loads((FILES / "iperf3-two-streams.json").read_text())
    sums = [one["sum"]["bits_per_second"] / 8 for one in document["intervals"]]
    run = imported("iperf3-two-streams.json")
    assert run.phase_rates(0).values[:, 0] == pytest.approx(sums, rel=1e-3)
    assert run.node_names == ("127.0.0.1", "127.0.0.1")
    received = json.loads((FILES / "iperf3-udp.json").read_text())["end"]["streams"][0]["udp"]
    lost = received["lost_packets"] / received["packets"]
    arrived = received["bytes"] * (1 - lost) / received["end"]
    assert float(imported("iperf3-udp.json").phase_rates(0).max()) == pytest.approx(arrived)


def test_every_message_of_sockperf_is_a_repetition(imported: Callable[..., Run]) -> None:
    run = imported("sockperf.csv")
    seconds = run.message_seconds(0).values[:, 0, 0, 0]
    assert len(seconds) == 55
    assert seconds[:2].tolist() == pytest.approx([33.835e-6, 6.594e-6])
