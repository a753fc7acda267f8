"""Changes over all hosts: joined, placed, and explained by what else changed."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from history_records import night, noisy

from crosscut import cli
from crosscut.history import database, page, queries, store, words
from crosscut.history.changes import ChangeSettings, ChangesFound, changes
from crosscut.history.nights import HostFlow

NIGHTS, CHANGED = 60, 40


def history(file: Path, factors: dict[str, float], *, seed: int = 1, setup: str = "kernel 6.1") -> Path:
    """A history in which these hosts run at these shares of their rate from night CHANGED on."""
    with database.writing(file) as connection:
        for at, rates in enumerate(noisy(NIGHTS, seed=seed)):
            after = at >= CHANGED
            changed = {
                host: rate * (factors.get(host, 1.0) if after else 1.0) for host, rate in rates.items()
            }
            store.add(connection, night(at, changed, setup=setup if after else "kernel 6.1"))
    return file


def found_in(file: Path, **asked: float) -> ChangesFound:
    with database.reading(file) as connection:
        (found,) = changes(connection, queries.all_series(connection), ChangeSettings(**asked))
    return found


def hosts(*numbers: int) -> list[str]:
    return [f"n{number:04}" for number in numbers]


def test_a_healthy_cluster_has_not_changed(tmp_path):
    found = found_in(history(tmp_path / "a.db", {}))
    assert not found.common
    assert not found.drifts
    assert words.headline([found]) == "No host has changed"


def test_hosts_that_changed_together_are_one_change_with_place_date_and_setup(tmp_path):
    slower = dict.fromkeys(hosts(*range(8, 15)), 0.92)
    found = found_in(history(tmp_path / "a.db", slower, setup="kernel 6.2"))
    (change,) = found.common
    assert change.worse
    assert change.ways == (HostFlow.SENT, HostFlow.RECEIVED)
    assert words.change(found.nights, change).startswith(
        "7 of the 8 hosts of rack r1 (n[0008-0014]) send and rec"
    )
    assert words.between(found.nights, change.earliest, change.latest) == "between 9 and 10 February 2026"
    assert change.coincides == ("kernel 6.1 → kernel 6.2 on all of these hosts",)


def test_if_most_hosts_become_slower_the_others_are_not_called_faster(tmp_path):
    slower = dict.fromkeys(hosts(*range(12)), 0.9)
    found = found_in(history(tmp_path / "a.db", slower))
    assert [(change.worse, len(change.hosts)) for change in found.common] == [(True, 12)]
    assert found.common[0].place == "12 of the 16 hosts"


def test_a_change_of_all_hosts_is_found_although_none_differs_from_the_others(tmp_path):
    found = found_in(history(tmp_path / "a.db", dict.fromkeys(hosts(*range(16)), 0.95)))
    assert [change.place for change in found.common] == ["all 16 hosts"]


def test_a_host_s_change_is_measured_up_to_one_of_all_hosts(tmp_path):
    with database.writing(tmp_path / "a.db") as connection:
        for at, rates in enumerate(noisy(NIGHTS)):
            all_ = {host: rate * (0.8 if at >= CHANGED else 1) for host, rate in rates.items()}
            store.add(connection, night(at, all_ | {"n0003": all_["n0003"] * (0.9 if at >= 20 else 1)}))
    found = found_in(tmp_path / "a.db")
    told = [(change.at, len(change.hosts), round(change.ratio, 2)) for change in found.common]
    assert told == [(20, 1, 0.9), (CHANGED, 16, 0.8)]
    assert not found.drifts


def test_changes_too_small_to_matter_are_not_reported(tmp_path):
    file = history(tmp_path / "a.db", {"n0003": 0.94})
    assert found_in(file).common
    assert not found_in(file, matters=0.1).common


def test_a_slow_decline_is_a_drift_without_a_date(tmp_path):
    with database.writing(tmp_path / "a.db") as connection:
        for at, rates in enumerate(noisy(NIGHTS)):
            store.add(connection, night(at, rates | {"n0005": rates["n0005"] * (1 - 0.004 * at)}))
    found = found_in(tmp_path / "a.db")
    assert not found.common
    assert {found.nights.hosts[host].name for drift in found.drifts for host in drift.hosts} == {"n0005"}


def test_several_runs_of_a_day_count_once(tmp_path):
    with database.writing(tmp_path / "a.db") as connection:
        rates = noisy(2)
        for number in range(40):
            run = night(number // 20, rates[number // 20])
            store.add(connection, replace(run, identity=str(number)))
    assert len(found_in(tmp_path / "a.db").nights.days) == 2


def test_notes_of_those_days_are_told(tmp_path, capsys):
    file = history(tmp_path / "a.db", {"n0003": 0.8})
    assert cli.main(["history", "note", str(file), "2026-02-10", "firmware 14.32"]) == 0
    assert cli.main(["history", "note", str(file), "2026-02-20", "new chairs"]) == 0
    assert "noted for 2026-02-20: new chairs" in capsys.readouterr().out
    assert found_in(file).common[0].coincides == ("note of 2026-02-10: firmware 14.32",)
    assert cli.main(["history", "changes", str(file), "--json"]) == 0
    (change,) = json.loads(capsys.readouterr().out)["series"][0]["changes"]
    assert (change["last_night_before"], change["first_night_after"]) == ("2026-02-09", "2026-02-10")
    assert change["p_at_most"] == 0.01


def test_another_number_of_ranks_and_another_crosscut_are_told(tmp_path):
    with database.writing(tmp_path / "a.db") as connection:
        for at, rates in enumerate(noisy(NIGHTS)):
            run = night(at, rates | {"n0003": rates["n0003"] * (0.8 if at >= CHANGED else 1)})
            other = {"ranks": 32, "crosscut": "0.3.0"} if at >= CHANGED else {}
            store.add(connection, replace(run, **other))
    (change,) = found_in(tmp_path / "a.db").common
    assert change.coincides == ("runs of 16 ranks, then of 32", "crosscut 0.2.0 → 0.3.0")


@pytest.mark.parametrize("nights", [1, 5])
def test_few_nights_say_so(nights, tmp_path, capsys):
    with database.writing(tmp_path / "a.db") as connection:
        for at, rates in enumerate(noisy(nights)):
            store.add(connection, night(at, rates))
    assert cli.main(["history", "changes", str(tmp_path / "a.db")]) == 0
    assert "too few nights" in capsys.readouterr().out
    assert cli.main(["history", "report", str(tmp_path / "a.db"), "-o", str(tmp_path / "a.html")]) == 0


def fallen(file: Path, before: int, after: int, share: float = 0.41) -> ChangesFound:
    """Twelve hosts, of which two fall to `share` after so many nights."""
    with database.writing(file) as connection:
        for at, rates in enumerate(noisy(before + after, hosts=12)):
            slow = {host: rates[host] * share for host in hosts(3, 11)} if at >= before else {}
            store.add(connection, night(at, rates | slow))
    return found_in(file)


def test_a_large_fall_is_told_before_it_can_be_significant_and_how_many_nights_it_takes(tmp_path, capsys):
    early = fallen(tmp_path / "early.db", 10, 6)
    assert not early.common
    (step,) = early.early
    assert step.more
    fall = (
        "n[0003,0011] send and receive 59 % less in the 6 nights since 11 January 2026; not yet significant"
    )
    said = f"{fall}: at least {step.more} more such nights are needed"
    assert words.headline([early]) == fall
    assert cli.main(["history", "changes", str(tmp_path / "early.db")]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert said in told
    assert f"no change is significant; a step that begins now would show after {early.fewest_after}" in told
    assert not fallen(tmp_path / "short.db", 10, 6 + step.more - 1).common
    (change,) = fallen(tmp_path / "long.db", 10, 6 + step.more).common
    assert {early.nights.hosts[host].name for host in change.hosts} <= {*hosts(3, 11)}


def test_a_large_fall_is_told_within_the_first_nights_too(tmp_path):
    found = fallen(tmp_path / "a.db", 5, 2)
    assert [step.at for step in found.early] == [5]
    assert words.none(found).startswith("too few nights")


@pytest.mark.parametrize(("after", "share"), [(1, 0.41), (6, 0.93), (20, 0.41)], ids=str)
def test_one_bad_night_a_small_fall_and_a_known_change_are_no_early_step(after, share, tmp_path):
    assert not fallen(tmp_path / "a.db", 12, after, share).early


def test_all_hosts_that_fall_together_are_one_early_step(tmp_path):
    with database.writing(tmp_path / "a.db") as connection:
        for at, rates in enumerate(noisy(16)):
            store.add(connection, night(at, {h: rate * (0.7 if at > 11 else 1) for h, rate in rates.items()}))
    (step,) = found_in(tmp_path / "a.db").early
    assert len(step.hosts) == 16
    assert words.early(found_in(tmp_path / "a.db").nights, step).startswith("all 16 hosts send and rec")


def test_names_from_runs_cannot_become_markup(tmp_path):
    hostile = "</script><script>alert(1)</script>"
    with database.writing(tmp_path / "a.db") as connection:
        for at, rates in enumerate(noisy(12)):
            run = night(at, rates)
            store.add(connection, replace(run, series=replace(run.series, cluster=hostile)))
    with database.reading(tmp_path / "a.db") as connection:
        text = page.render(connection, queries.all_series(connection), ChangeSettings())
    assert hostile not in text


def test_a_rate_that_is_no_number_is_refused(tmp_path, capsys):
    file = history(tmp_path / "a.db", {})
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE host_rate SET sent = 'fast' WHERE run = 7")
    assert cli.main(["history", "changes", str(file)]) == 2
    assert "holds a value of the wrong type" in capsys.readouterr().err
