"""An HTTP server for Prometheus: `GET /metrics` and nothing else.

It reads the history anew for each request, so a run that was added is seen at the next scrape. Requests are
bounded in bytes, time and number; a client that goes away in the middle disturbs no other.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

from crosscut.base.errors import CrosscutError, UsageError
from crosscut.history import database, metrics

MOST_REQUEST_BYTES = 8192
MOST_CONNECTIONS = 16
SECONDS_A_REQUEST = 10.0
# A locked history is waited for less long than a request may take, so that the answer says so.
_PATIENCE_SECONDS = 4.0
# Prometheus is missed after as many of its intervals without a request, but not before so many seconds.
_MISSED_INTERVALS, _MISSED_SECONDS = 5, 60.0

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Listen:
    """Where the server listens; another host than this one only if it was typed."""

    host: str
    port: int


def parse_listen(typed: str) -> Listen:
    """Parses `[ADDRESS:]PORT`. Raises UsageError."""
    host, _, port = typed.rpartition(":")
    if not (port.isascii() and port.isdigit() and len(port) <= 5 and 0 <= int(port) < 65536):
        raise UsageError(f"'{typed}' is not an address and port; write for example 127.0.0.1:9847 or 9847")
    return Listen(host.strip("[]") or "127.0.0.1", int(port))


def answer(history: Path, request: bytes) -> tuple[HTTPStatus, str, bytes]:
    """Returns (status, content type, body) for the head of a request; never raises for its content."""
    lines = request.decode("latin-1").split("\r\n")
    words = lines[0].split(" ")
    plain = "text/plain; charset=utf-8"
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        return HTTPStatus.BAD_REQUEST, plain, b"this is no HTTP request\n"
    if words[0] not in ("GET", "HEAD"):
        return HTTPStatus.METHOD_NOT_ALLOWED, plain, b"only GET /metrics is served\n"
    if words[1].partition("?")[0] != "/metrics":
        return HTTPStatus.NOT_FOUND, plain, b"only GET /metrics is served\n"
    headers = (line.partition(":") for line in lines[1:])
    accept = ",".join(value for name, _, value in headers if name.strip().lower() == "accept")
    openmetrics = metrics.wants_openmetrics(accept)
    try:
        with database.reading(history, _PATIENCE_SECONDS) as connection:
            text = metrics.text(metrics.samples(connection), openmetrics=openmetrics)
    except CrosscutError as error:
        return HTTPStatus.SERVICE_UNAVAILABLE, plain, f"{error}\n".encode("utf-8", "replace")
    kind = metrics.OPENMETRICS if openmetrics else metrics.PROMETHEUS
    return HTTPStatus.OK, kind, text.encode()


class MetricsServer:
    """Serves one history until it is cancelled."""

    def __init__(self, history: Path, tell: Tell) -> None:
        self._history, self._tell = history, tell
        self._places = asyncio.Semaphore(MOST_CONNECTIONS)
        self._scraped: list[float] = []
        """Times of the latest requests that were answered."""
        self._failure = ""

    async def serve(self, listen: Listen, ready: Callable[[int], None]) -> None:
        """`ready` is called with the port once requests are answered. Raises UsageError if it is taken."""
        try:
            server = await asyncio.start_server(
                self._handle, listen.host, listen.port, limit=MOST_REQUEST_BYTES
            )
        except OSError as error:
            raise UsageError(f"--listen {listen.host}:{listen.port}: {error.strerror or error}") from error
        async with server:
            ready(server.sockets[0].getsockname()[1])
            while True:
                await asyncio.sleep(1)
                self._miss()

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._places.locked():  # more would only wait: Prometheus asks again
            writer.close()
            return
        async with self._places:
            # A client that is slow, sends too much or goes away gets no answer.
            with contextlib.suppress(OSError, EOFError, TimeoutError, asyncio.LimitOverrunError):
                async with asyncio.timeout(SECONDS_A_REQUEST):
                    await self._answer(reader, writer)
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = (await reader.readuntil(b"\r\n\r\n"))[:-4]
        status, kind, body = await asyncio.to_thread(answer, self._history, request)
        self._told(status, body)
        head = (
            f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: {kind}\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        writer.write(head.encode() + (b"" if request.startswith(b"HEAD") else body))
        await writer.drain()
        if status is HTTPStatus.OK:
            self._seen()

    def _told(self, status: HTTPStatus, body: bytes) -> None:
        """Tells once that the history cannot be read, and once that it can again."""
        failure = body.decode("utf-8", "replace").strip() if status is HTTPStatus.SERVICE_UNAVAILABLE else ""
        if failure and failure != self._failure:
            self._tell(f"{failure}; it is tried again at each request")
        if self._failure and status is HTTPStatus.OK:
            self._tell("the history can be read again")
        if failure or status is HTTPStatus.OK:
            self._failure = failure

    def _seen(self) -> None:
        if self._scraped and self._scraped[-1] < 0:
            self._tell("metrics are asked for again")
            self._scraped.clear()
        self._scraped = [*self._scraped[-2:], time.monotonic()]

    def _miss(self) -> None:
        """Tells once if requests that came regularly have stopped."""
        if len(self._scraped) < 2 or self._scraped[-1] < 0:
            return
        usual = self._scraped[-1] - self._scraped[-2]
        silent = time.monotonic() - self._scraped[-1]
        if silent > max(_MISSED_INTERVALS * usual, _MISSED_SECONDS):
            self._tell(
                f"nobody has asked for metrics for {silent:.0f} s, before every {usual:.0f} s: is Prometheus "
                "down? Nothing is lost: results stay in the history"
            )
            self._scraped.append(-1.0)


def run(history: Path, listen: Listen) -> None:
    """Serves until a signal stops it."""

    def ready(port: int) -> None:
        host = f"[{listen.host}]" if ":" in listen.host else listen.host
        print(f"metrics at http://{host}:{port}/metrics", flush=True)

    def tell(words: str) -> None:
        print(f"crosscut: {words}", file=sys.stderr, flush=True)

    async def serve() -> None:
        await MetricsServer(history, tell).serve(listen, ready)

    with database.reading(history):  # complain now, not at the first request
        pass
    asyncio.run(serve())
