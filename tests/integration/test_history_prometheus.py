"""The metrics of a history in Debian's own Prometheus and node_exporter, which this file starts on loopback.

Debian's packages enable their services, so `make test` does not install them: apt-get install prometheus
prometheus-node-exporter.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from history_records import night, noisy, slow

from crosscut.history import dashboard, database, store

PATIENCE_SECONDS = 60.0


def needed(program: str) -> str:
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"needs {program}: apt-get install prometheus prometheus-node-exporter")
    return found


@pytest.fixture
def file(tmp_path: Path) -> Path:
    with database.writing(tmp_path / "net.db") as connection:
        for at, rates in enumerate(noisy(3)):
            store.add(connection, night(at, rates, findings=(slow("n0003"),)))
    return tmp_path / "net.db"


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@contextlib.contextmanager
def started(*words: object, **options: Any) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen([*map(str, words)], text=True, **options) as process:
        try:
            yield process
        finally:
            process.terminate()
            process.wait(20)


def crosscut(*words: object) -> list[str]:
    return [sys.executable, "-m", "crosscut", "history", *map(str, words)]


def until(ask: Any, says: str) -> Any:
    end = time.monotonic() + PATIENCE_SECONDS
    while True:
        with contextlib.suppress(OSError):
            if found := ask():
                return found
        assert time.monotonic() < end, says
        time.sleep(0.2)


def body(url: str) -> str:
    with urllib.request.urlopen(url, timeout=10) as answer:
        return str(answer.read().decode())


@contextlib.contextmanager
def endpoint(file: Path, port: int = 0, **options: Any) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    with started(*crosscut("metrics", file, "--listen", port), stdout=subprocess.PIPE, **options) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        yield int(line.rpartition(":")[2].partition("/")[0]), process


def test_promtool_finds_nothing_to_complain_about(file: Path) -> None:
    promtool = needed("promtool")
    text = subprocess.run(crosscut("metrics", file), capture_output=True, check=True).stdout
    checked = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, check=False)
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, b"")


def test_node_exporter_s_textfile_collector_serves_the_file(file: Path, tmp_path: Path) -> None:
    exporter, port = needed("prometheus-node-exporter"), free_port()
    (folder := tmp_path / "textfiles").mkdir()
    subprocess.run(crosscut("metrics", file, "-o", folder / "crosscut.prom"), check=True)
    only = (
        "--collector.disable-defaults",
        "--collector.textfile",
        f"--collector.textfile.directory={folder}",
    )
    address = f"127.0.0.1:{port}"
    with started(exporter, *only, f"--web.listen-address={address}", stderr=subprocess.DEVNULL):
        text = until(lambda: body(f"http://{address}/metrics"), "node_exporter did not answer")
    assert 'crosscut_host_send_bytes_per_second{backend="tcp",cluster="atlas",host="n0015"' in text
    assert "node_textfile_scrape_error 0" in text


def test_prometheus_pulls_and_answers_every_query_of_the_dashboard(file: Path, tmp_path: Path) -> None:
    prometheus, port = needed("prometheus"), free_port()
    with endpoint(file) as (metrics_port, _):
        configuration = tmp_path / "prometheus.yml"
        configuration.write_text(
            "scrape_configs:\n  - job_name: crosscut\n    scrape_interval: 1s\n    static_configs:\n"
            f"      - targets: ['127.0.0.1:{metrics_port}']\n"
        )
        address = f"127.0.0.1:{port}"
        words = (f"--config.file={configuration}", f"--storage.tsdb.path={tmp_path / 'tsdb'}",
                 f"--web.listen-address={address}")  # fmt: skip
        with started(prometheus, *words, stderr=subprocess.DEVNULL):

            def query(text: str) -> list[Any]:
                asked = urllib.parse.urlencode({"query": text})
                answer = json.loads(body(f"http://{address}/api/v1/query?{asked}"))
                assert answer["status"] == "success"
                return list(answer["data"]["result"])

            up = until(lambda: query('crosscut_host_faults{host="n0003"} == 1'), "nothing was pulled")
            assert up[0]["metric"]["rack"] == "r0"
            targets = json.loads(body(f"http://{address}/api/v1/targets"))["data"]["activeTargets"]
            assert [(one["health"], one["lastError"]) for one in targets] == [("up", "")]
            # No promise was judged in this history; its panel falls back to 0.
            empty = [text for text in dashboard.queries() if not query(text)]
            assert not empty


def test_if_prometheus_goes_away_the_endpoint_says_so_and_serves_the_next(file: Path, tmp_path: Path) -> None:
    prometheus = needed("prometheus")
    configuration = tmp_path / "prometheus.yml"
    with (tmp_path / "said").open("w+") as said, endpoint(file, stderr=said) as (metrics_port, process):
        configuration.write_text(
            "scrape_configs:\n  - job_name: crosscut\n    scrape_interval: 1s\n    static_configs:\n"
            f"      - targets: ['127.0.0.1:{metrics_port}']\n"
        )
        address = f"127.0.0.1:{free_port()}"
        with started(prometheus, f"--config.file={configuration}", f"--storage.tsdb.path={tmp_path / 'tsdb'}",
                     f"--web.listen-address={address}", stderr=subprocess.DEVNULL) as pulling:  # fmt: skip
            wanted = urllib.parse.quote("count_over_time(crosscut_build_info[1m]) > 2")
            until(lambda: json.loads(body(f"http://{address}/api/v1/query?query={wanted}"))["data"]["result"],
                  "nothing was pulled")  # fmt: skip
            os.kill(pulling.pid, signal.SIGKILL)
            pulling.wait(20)
        with database.writing(file) as connection:
            store.add(connection, night(9, noisy(1)[0]))
        text = body(f"http://127.0.0.1:{metrics_port}/metrics")
        assert process.poll() is None
    assert 'message_bytes="1000000"} 4\n' in text  # crosscut_history_runs: the new run is there
