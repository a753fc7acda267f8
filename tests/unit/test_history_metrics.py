"""Metrics of a history, as text and over HTTP."""

from __future__ import annotations

import asyncio
import itertools
import json
from pathlib import Path

import pytest
from history_records import night, noisy, slow

from crosscut import cli
from crosscut.base.errors import UsageError
from crosscut.history import dashboard, database, endpoint, metrics, store
from crosscut.history.endpoint import Listen, MetricsServer, answer, parse_listen
from crosscut.history.metrics import METRICS, MetricSample


@pytest.fixture
def file(tmp_path: Path) -> Path:
    with database.writing(tmp_path / "net.db") as connection:
        for at, rates in enumerate(noisy(2)):
            store.add(connection, night(at, rates, findings=(slow("n0003"),)))
    return tmp_path / "net.db"


def test_the_latest_run_s_figures_are_there_once_each(file):
    with database.reading(file) as connection:
        text = metrics.text(metrics.samples(connection))
    lines = text.splitlines()
    assert sum(line.startswith("crosscut_host_send_bytes_per_second{") for line in lines) == 16
    assert [
        line[-1] for line in lines if line.startswith("crosscut_host_faults") and 'host="n0003"' in line
    ] == ["1"]
    assert any(
        line.startswith("crosscut_findings{") and 'kind="slow host",fault="1"} 1' in line for line in lines
    )
    assert any(
        line.startswith("crosscut_run_timestamp_seconds{") and line.endswith(" 1767319200") for line in lines
    )
    of_samples = [line.partition(" ")[0] for line in lines if not line.startswith("#")]
    assert len(set(of_samples)) == len(of_samples)


def test_metrics_stand_together_with_help_and_type_and_labels_are_escaped():
    one, other = METRICS[0], METRICS[1]
    samples = [
        MetricSample(one, {"a": 'x"\\\n\x1b\u202e'}, 1),
        MetricSample(other, {}, 0.5),
        MetricSample(one, {"a": "b"}, 2),
    ]
    text = metrics.text(samples, openmetrics=True)
    assert text.splitlines() == [
        f"# HELP {one.name} {one.help}", f"# TYPE {one.name} gauge", f'{one.name}{{a="x\\"\\\\\\n??"}} 1',
        f'{one.name}{{a="b"}} 2', f"# HELP {other.name} {other.help}", f"# TYPE {other.name} gauge",
        f"{other.name}{{}} 0.5", "# EOF",
    ]  # fmt: skip
    assert text.endswith("# EOF\n")


@pytest.mark.parametrize(
    ("accept", "wanted"),
    [
        ("", False),
        ("text/plain;version=0.0.4", False),
        ("application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1", True),
        ("application/openmetrics-text;q=0.2,text/plain;q=0.5", False),
        ("application/openmetrics-text;q=x", False),
    ],
)
def test_openmetrics_is_sent_to_those_who_ask_for_it(accept, wanted):
    assert metrics.wants_openmetrics(accept) is wanted


@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        (b"GET /metrics HTTP/1.1", 200), (b"HEAD /metrics HTTP/1.0", 200),
        (b"GET /metrics?x=1 HTTP/1.1", 200),
        (b"GET / HTTP/1.1", 404), (b"GET /../etc/passwd HTTP/1.1", 404), (b"POST /metrics HTTP/1.1", 405),
        (b"", 400), (b"\xff\xfe", 400), (b"GET /metrics", 400),
    ],
)  # fmt: skip
def test_only_the_metrics_are_served(request_line, status, file):
    assert answer(file, request_line)[0] == status


def test_a_history_that_cannot_be_read_is_an_answer(tmp_path):
    status, _, body = answer(tmp_path / "gone.db", b"GET /metrics HTTP/1.1")
    assert status == 503
    assert b"gone.db" in body


async def asked(port: int, request: bytes, close: bool = False) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    await writer.drain()
    found = b"" if close else await reader.read()
    writer.close()
    await writer.wait_closed()
    return found


def served(file: Path, talk, tell=lambda words: None) -> None:
    async def both() -> None:
        ready: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        server = asyncio.create_task(
            MetricsServer(file, tell).serve(Listen("127.0.0.1", 0), ready.set_result)
        )
        await talk(await ready)
        server.cancel()

    asyncio.run(both())


def test_clients_that_go_away_are_slow_or_send_too_much_disturb_no_other(file, monkeypatch):
    monkeypatch.setattr(endpoint, "SECONDS_A_REQUEST", 0.5)

    async def talk(port: int) -> None:
        await asked(port, b"GET /metrics HTTP/1.1\r\n\r\n", close=True)
        assert await asked(port, b"GET /metrics HTTP/1.1\r\n") == b""  # never finished
        assert await asked(port, b"x" * 100_000) == b""
        assert (await asked(port, b"GET /metrics HTTP/1.1\r\n\r\n")).startswith(b"HTTP/1.1 200 OK\r\n")

    served(file, talk)


def test_a_lost_and_found_history_and_a_silent_prometheus_are_told_once(file, monkeypatch):
    monkeypatch.setattr(endpoint, "_MISSED_SECONDS", 0.0)
    said: list[str] = []

    async def talk(port: int) -> None:
        request = b"GET /metrics HTTP/1.1\r\n\r\n"
        await asked(port, request)
        file.rename(file.with_suffix(".away"))
        assert b"503" in await asked(port, request)
        assert b"503" in await asked(port, request)
        file.with_suffix(".away").rename(file)
        await asked(port, request)
        await asyncio.sleep(2.5)
        await asked(port, request)

    served(file, talk, said.append)
    assert "tried again" in said[0]
    assert said[1] == "the history can be read again"
    assert "is Prometheus down? Nothing is lost" in said[2]
    assert said[3] == "metrics are asked for again"
    assert len(said) == 4


@pytest.mark.parametrize("typed", ["", "x", "127.0.0.1:", "1:2:99999", "127.0.0.1:-1", "9²"])
def test_a_wrong_address_is_refused(typed):
    with pytest.raises(UsageError, match=r"127\.0\.0\.1:9847"):
        parse_listen(typed)


def test_the_endpoint_is_for_this_machine_unless_an_address_is_typed():
    assert parse_listen("9847") == Listen("127.0.0.1", 9847)
    assert parse_listen("[::1]:9847") == Listen("::1", 9847)


def test_a_textfile_must_be_one_that_node_exporter_reads(file, tmp_path, capsys):
    assert cli.main(["history", "metrics", str(file), "-o", str(tmp_path / "crosscut.txt")]) == 2
    assert ".prom" in capsys.readouterr().err
    assert cli.main(["history", "metrics", str(file), "-o", str(tmp_path / "crosscut.prom")]) == 0
    assert [path.name for path in tmp_path.glob("*.prom*")] == ["crosscut.prom"]


def test_the_dashboard_uses_only_metrics_that_there_are(capsys):
    assert cli.main(["history", "dashboard"]) == 0
    panels = json.loads(capsys.readouterr().out)["panels"]
    names = {metric.name for metric in METRICS}
    queries = [target["expr"] for panel in panels for target in panel["targets"]]
    assert all(any(name in query for name in names) for query in queries)
    assert [query.replace("$cluster", ".*") for query in queries] == dashboard.queries()


def lost(value: object, kept: object, where: str = "") -> list[str]:
    """Returns the members of a document that another lacks or changed."""
    if isinstance(value, dict):
        beside = kept if isinstance(kept, dict) else {}
        return [one for key in value for one in lost(value[key], beside.get(key), f"{where}.{key}")]
    if isinstance(value, list):
        beside = kept if isinstance(kept, list) else []
        pairs = itertools.zip_longest(value, beside)
        return [one for at, (mine, other) in enumerate(pairs) for one in lost(mine, other, f"{where}[{at}]")]
    return [] if value == kept else [where]


def test_grafana_s_schema_keeps_every_member_of_the_dashboard():
    plugins = pytest.importorskip(
        "grafana_foundation_sdk.cog.plugins",
        reason="needs Grafana's schema: pip install grafana-foundation-sdk",
    )
    from grafana_foundation_sdk.cog.encoder import JSONEncoder
    from grafana_foundation_sdk.models.dashboard import Dashboard

    plugins.register_default_plugins()
    made = json.loads(json.dumps(dashboard.dashboard()))
    assert lost(made, json.loads(JSONEncoder().encode(Dashboard.from_json(made)))) == []
    made["panels"][0]["targets"][0]["expression"] = made["panels"][0].pop("title")
    kept = json.loads(JSONEncoder().encode(Dashboard.from_json(made)))
    assert lost(made, kept) == [".panels[0].targets[0].expression"]
