"""Drives the system's Chromium by the DevTools protocol, without network."""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

# As root in a container Chromium has no sandbox; the other arguments keep it from calling home.
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


def executable() -> str | None:
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@contextlib.contextmanager
def chromium() -> Iterator["playwright.sync_api.Browser"]:  # noqa: F821, UP037
    """Yields a browser with a fresh profile, removed afterwards. Skips, with the reason, without Chromium."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
    found = executable()
    if found is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, headless=True, args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


class Tab:
    """A page from disk in its own context; records its complaints and its requests to the network."""

    def __init__(self, browser, file: Path, **context) -> None:
        self.context = browser.new_context(offline=True, accept_downloads=True, **context)
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda said: self._said(said))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(file.as_uri())

    def _said(self, said) -> None:
        if said.type in ("error", "warning"):
            self.complaints.append(said.text)

    def show(self, name: str):
        """Scrolls to the figure and returns it once drawn."""
        figure = self.page.locator(f"#{name}")
        figure.scroll_into_view_if_needed()
        self.page.wait_for_selector(f"#{name}[data-drawn=yes]", timeout=20_000)
        return figure

    def until(self, expression: str) -> None:
        """Waits for the expression. The page's policy forbids the polling of `wait_for_function`."""
        end = time.monotonic() + 20
        while not self.page.evaluate(expression):
            assert time.monotonic() < end, f"never true: {expression}"
            self.page.wait_for_timeout(50)

    def show_all(self) -> list[str]:
        names = self.page.eval_on_selector_all("figure", "figures => figures.map(figure => figure.id)")
        for name in names:
            self.show(name)
        return names

    def save(self, name: str, words: str, folder: Path) -> Path:
        """Clicks a button of a figure and returns the downloaded file."""
        figure = self.show(name)
        with self.page.expect_download() as download:
            figure.locator(".tools button", has_text=words).click()
        file = folder / download.value.suggested_filename
        download.value.save_as(file)
        return file
