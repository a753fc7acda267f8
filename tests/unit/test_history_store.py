"""A history on disk: adding, asking, forgetting, and what is told where that fails."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from history_records import NIGHTLY, night, noisy, slow
from hypothesis import given
from hypothesis import strategies as st

from crosscut import cli
from crosscut.analysis.compare.promises import PromiseVerdict, Verdict
from crosscut.analysis.compare.spec import Promise, PromiseKind
from crosscut.base.errors import CrosscutError, UsageError
from crosscut.history import database, queries, schema, store
from crosscut.history.database import HistoryBusy
from crosscut.history.store import Added


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "net.db"


def filled(file: Path, nights: int = 3) -> Path:
    with database.writing(file) as connection:
        for at, rates in enumerate(noisy(nights)):
            found = (slow("n0003"),) if at == nights - 1 else ()
            store.add(connection, night(at, rates, findings=found))
    return file


def json_of(capsys: pytest.CaptureFixture[str], *words: object) -> dict:
    assert cli.main(["history", *map(str, words), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_run_added_twice_changes_nothing(file):
    run = night(0, noisy(1)[0], findings=(slow("n0003"),))
    with database.writing(file) as connection:
        assert store.add(connection, run) is Added.NEW
        before = list(connection.iterdump())
        assert store.add(connection, replace(run, path="/elsewhere/copy.zarr")) is Added.KNOWN
        assert list(connection.iterdump()) == before


def test_a_run_that_was_resumed_replaces_what_was_known_of_it(file):
    rates = noisy(1)[0]
    with database.writing(file) as connection:
        store.add(connection, night(0, dict(list(rates.items())[:4]), state="stopped"))
        assert store.add(connection, night(0, rates)) is Added.REPLACED
        (series,) = queries.all_series(connection)
        (run,) = queries.runs(connection, series.id)
    assert (run.hosts, run.state) == (16, "complete")


def judged(verdict: Verdict) -> PromiseVerdict:
    promise = Promise(name="rate", kind=PromiseKind.NODE, pattern="aapc", size_bytes=1_000_000, bound=1e9)
    return PromiseVerdict(promise, verdict, 0.01, 9, 16, (), (3,), worst=8e8)


def test_verdicts_stay_with_a_run_that_is_read_anew(file, capsys):
    filled(file, 1)
    with database.writing(file) as connection:
        store.judge(connection, "run 0", [judged(Verdict.UNDECIDED)])
        store.judge(connection, "run 0", [judged(Verdict.FAIL)])
        assert store.add(connection, night(0, noisy(1, seed=2)[0])) is Added.REPLACED
    (run,) = json_of(capsys, "list", file)["series"][0]["runs"]
    assert [(one["promise"], one["verdict"], one["worst"]) for one in run["verdicts"]] == [
        ("rate", "fail", 8e8)
    ]


def test_list_names_the_hosts_at_fault(file, capsys):
    (series,) = json_of(capsys, "list", filled(file))["series"]
    assert [run["faulty_hosts"] for run in series["runs"]] == [[], [], ["n0003"]]


def test_trends_of_a_host_of_its_cable_and_between_racks(file, capsys):
    filled(file)
    host = json_of(capsys, "trend", file, "--host", "n0003")["trends"][0]
    assert len(host["starts"]) == 3
    assert [curve["name"] for curve in host["curves"]] == ["sent", "received"]
    assert [finding["what"] for finding in host["findings"]] == ["n0003 sends at 40%"]
    assert json_of(capsys, "trend", file, "--cable", "leaf0 3")["trends"][0]["curves"] == host["curves"]
    forth, back = json_of(capsys, "trend", file, "--groups", "r0", "r1")["trends"][0]["curves"]
    assert back["bytes_per_second"] == [rate // 2 for rate in forth["bytes_per_second"]]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("trend", "--host", "n00003"), "did you mean n0003?"),
        (("trend", "--cable", "cn0004x"), "did you mean cn0004?"),
        (("trend", "--groups", "r0", "r7"), "names r7"),
        (("list", "--pattern", "bisection"), "it holds:\n  atlas: aapc over tcp, 1 MB"),
    ],
)
def test_what_is_not_there_is_told_with_what_is(words, said, file, capsys):
    action, *rest = words
    assert cli.main(["history", action, str(filled(file)), *rest]) == 2
    assert said in capsys.readouterr().err


def test_a_series_without_the_subject_does_not_hide_the_others(file, capsys):
    filled(file)
    run = night(9, noisy(1, hosts=2)[0])
    with database.writing(file) as connection:
        store.add(connection, replace(run, series=replace(run.series, cluster="borel"), pairs=()))
    for words in (("--host", "n0009"), ("--groups", "r0", "r1")):
        (found,) = json_of(capsys, "trend", file, *words)["trends"]
        assert found["series"]["cluster"] == "atlas"


def test_forgetting_keeps_later_runs_and_gives_space_back(file, capsys):
    filled(file, 40)
    size = file.stat().st_size
    words = ["history", "forget", str(file), "--before", "2026-02-01"]
    assert cli.main([*words, "--dry-run"]) == 0
    assert "31 runs" in capsys.readouterr().out
    assert cli.main(words) == 0
    capsys.readouterr()
    (series,) = json_of(capsys, "list", file)["series"]
    assert (series["runs"][0]["start"][:10], series["runs"][-1]["faulty_hosts"]) == ("2026-02-01", ["n0003"])
    assert file.stat().st_size < size


def test_tables_of_a_released_version_never_change():
    """Whoever changes a table raises VERSION, and says what becomes of older files."""
    text = "\n".join(" ".join(statement.split()) for statement in schema.TABLES)
    assert (schema.VERSION, hashlib.sha256(text.encode()).hexdigest()[:12]) in {(1, "525bb8853b17")}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (f"PRAGMA user_version = {schema.VERSION + 1}", "written by a newer crosscut"),
        ("PRAGMA user_version = 0", "Make a new one from the runs"),
        ("PRAGMA application_id = 7", "not a crosscut history"),
        ("ALTER TABLE run ADD COLUMN mine", "another program changed it"),
        ("CREATE TRIGGER evil AFTER INSERT ON run BEGIN DELETE FROM run; END", "holds a trigger"),
    ],
)
@pytest.mark.parametrize("opened", [database.reading, database.writing])
def test_another_version_or_a_stranger_s_database_is_refused_and_left_alone(change, said, opened, file):
    filled(file)
    connection = sqlite3.connect(file)
    connection.execute(change)
    connection.commit()
    connection.close()
    before = file.read_bytes()
    with pytest.raises(UsageError, match=said), opened(file):
        pass
    assert file.read_bytes() == before


def test_a_value_of_another_type_is_told(file, capsys):
    filled(file)
    connection = sqlite3.connect(file)
    connection.execute("UPDATE run SET ranks = 'many'")
    connection.commit()
    connection.close()
    assert cli.main(["history", "list", str(file)]) == 2
    assert "value of the wrong type" in capsys.readouterr().err


@given(st.binary(max_size=300))
def test_a_file_of_any_bytes_is_refused_in_words(tmp_path_factory, content):
    file = tmp_path_factory.mktemp("any") / "any.db"
    file.write_bytes(content)
    with pytest.raises(UsageError), database.reading(file):
        pass


def test_a_damaged_history_is_refused_in_words(file):
    filled(file, 30)
    content = bytearray(file.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    file.write_bytes(content)
    with (
        pytest.raises(CrosscutError, match=r"damaged|differ|malformed"),
        database.reading(file) as connection,
    ):
        queries.all_series(connection)


@pytest.mark.parametrize("lost", [1, 4095, 4096, 10_000])
@pytest.mark.parametrize("opened", [database.reading, database.writing])
def test_a_history_that_is_cut_off_is_refused_and_left_alone(file, opened, lost):
    content = filled(file, 30).read_bytes()[:-lost]
    file.write_bytes(content)
    with pytest.raises(UsageError, match=r"is cut off: it has|malformed"), opened(file):
        pass
    assert file.read_bytes() == content


def test_a_lock_of_another_process_is_told_and_nothing_is_lost(file, monkeypatch):
    filled(file)
    monkeypatch.setattr(database, "PATIENCE_SECONDS", 0.05)
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(HistoryBusy, match="another process"), database.writing(file):
        pass
    with pytest.raises(HistoryBusy, match="fuser"), database.reading(file):
        pass
    other.execute("ROLLBACK")
    other.close()
    with database.reading(file) as connection:
        assert queries.all_series(connection)[0].runs == 3


def test_an_interrupted_addition_leaves_the_history_as_it_was(file, monkeypatch):
    filled(file)
    before = file.read_bytes()

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(store, "_finding", interrupted)
    with pytest.raises(KeyboardInterrupt), database.writing(file) as connection:
        store.add(connection, night(9, noisy(1)[0], findings=(slow("n0001"),)))
    assert file.read_bytes() == before


def test_notes_follow_all_series_once(file, capsys):
    filled(file)
    with database.writing(file) as connection:
        store.add(
            connection,
            replace(night(1, noisy(1)[0]), identity="other", series=replace(NIGHTLY, cluster="other")),
        )
    assert cli.main(["history", "note", str(file), "2026-01-02", "firmware 14.32"]) == 0
    capsys.readouterr()
    assert cli.main(["history", "list", str(file)]) == 0
    listed = capsys.readouterr().out
    assert "other" in listed
    assert listed.count("firmware 14.32") == 1
    assert listed.splitlines()[-1] == "2026-01-02: firmware 14.32"


def test_a_note_is_kept_once(file, capsys):
    for _ in range(2):
        assert cli.main(["history", "note", str(filled(file)), "2026-01-02", "firmware 14.32"]) == 0
    capsys.readouterr()
    assert json_of(capsys, "list", file)["notes"] == [{"day": "2026-01-02", "words": "firmware 14.32"}]


def test_a_history_of_no_run_is_not_made(tmp_path, capsys):
    damaged = tmp_path / "runs" / "night.zarr"
    (damaged / "size").mkdir(parents=True)
    (damaged / "size" / "zarr.json").write_text("{}")
    for named in (damaged, damaged.parent):
        assert cli.main(["history", "add", str(tmp_path / "new.db"), str(named)]) == 2
        told = capsys.readouterr().err
        assert told.count("crosscut: error") == 1, told
        assert str(damaged) in told
    assert not (tmp_path / "new.db").exists()


def test_a_file_and_a_run_in_the_wrong_place_are_told_apart(tmp_path, file, capsys):
    (tmp_path / "osu_bw.txt").write_text("# OSU\n")
    assert cli.main(["history", "add", str(file), str(tmp_path / "osu_bw.txt")]) == 2
    assert "osu_bw.txt is a file, not a run; crosscut import" in capsys.readouterr().err
    (tmp_path / "r1.zarr").mkdir()
    assert cli.main(["history", "list", str(tmp_path / "r1.zarr")]) == 2
    assert "r1.zarr is a run, not a history; crosscut history add DB" in capsys.readouterr().err


def test_what_no_series_has_is_named_with_its_options(file, capsys):
    assert cli.main(["history", "list", str(filled(file)), "--size", "2MB", "--cluster", "x"]) == 2
    assert "--cluster x --size 2 MB: the history holds no such series; it holds:" in capsys.readouterr().err


def test_a_finding_of_many_nights_is_shown_once(file, capsys):
    with database.writing(file) as connection:
        for at, rates in enumerate(noisy(6)):
            store.add(connection, night(at, rates, findings=(slow("n0003"),) if at != 2 else ()))
    assert cli.main(["history", "trend", str(file), "--host", "n0003"]) == 0
    told = capsys.readouterr().out
    assert told.count("n0003 sends at 40%") == 1
    assert "2026-01-01 to 2026-01-06, 5 runs, the latest: n0003 sends at 40%" in told


def test_a_run_keeps_its_cluster_and_racks_if_a_later_add_names_none(file):
    (rates,) = noisy(1)
    first = night(0, rates)
    again = replace(
        first, series=replace(first.series, cluster="two-leaves-16"), pairs=(),
        hosts=tuple(replace(host, rack="", port="", cable="") for host in first.hosts),
    )  # fmt: skip
    with database.writing(file) as connection:
        store.add(connection, first)
        assert store.add(connection, again, named=False, cabled=False) is Added.KNOWN
        further = replace(again, sent=again.sent // 2)  # measured on
        assert store.add(connection, further, named=False, cabled=False) is Added.REPLACED
    with database.reading(file) as connection:
        assert [one.cluster for one in queries.all_series(connection)] == ["atlas"]


def test_a_note_can_be_removed_and_makes_no_history(file, capsys):
    words = ["history", "note", str(file), "2026-01-02", "firmware"]
    assert cli.main(words) == 2
    assert not file.exists()
    filled(file)
    assert cli.main([*words, "--remove"]) == 2
    assert "there is no such note of 2026-01-02" in capsys.readouterr().err
    assert cli.main(words) == 0
    assert cli.main([*words, "--remove"]) == 0
    capsys.readouterr()
    assert json_of(capsys, "list", file)["notes"] == []
