"""The page of a history in a real Chromium, from disk, without network."""

from __future__ import annotations

from pathlib import Path

import pytest
from browser import Tab, chromium
from history_records import night, noisy

from crosscut import cli
from crosscut.history import database, store


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("history")
    with database.writing(folder / "net.db") as connection:
        for at, rates in enumerate(noisy(60)):
            if at == 20:  # a night without a run
                continue
            slower = {f"n{host:04}": rates[f"n{host:04}"] * 0.9 for host in range(8, 15)} if at >= 40 else {}
            store.add(connection, night(at, rates | slower))
    assert cli.main(["history", "report", str(folder / "net.db"), "-o", str(folder / "net.html")]) == 0
    return folder / "net.html"


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (400, "light")])
def test_the_page_draws_all_pictures_within_its_width(page, width, scheme):
    with chromium() as browser:
        tab = Tab(browser, page, viewport={"width": width, "height": 900}, color_scheme=scheme)
        assert tab.show_all() == ["series1-hosts", "series1-all", "series1-change1"]
        assert "7 of the 8 hosts of rack r1" in tab.page.inner_text("h1")
        assert tab.page.evaluate("document.documentElement.scrollWidth") == width
        assert tab.complaints == []
        assert all(url.startswith(("file:", "data:")) for url in tab.requests)
        tab.context.close()


def test_the_map_names_host_night_and_rate_under_the_pointer(page):
    with chromium() as browser:
        tab = Tab(browser, page, viewport={"width": 1280, "height": 900})
        tab.show("series1-hosts")
        image = tab.page.locator("#series1-hosts image").bounding_box()
        # The lowest row is the last host of rack r1, the last column the last night; r1's others are above.
        right, row = image["x"] + image["width"] - 4, image["height"] / 16
        said = []
        for at in (15, 8):
            tab.page.mouse.move(right, image["y"] + (at + 0.5) * row)
            said.append(tab.page.inner_text("#series1-hosts .tip"))
        tab.context.close()
    assert said[0].startswith("n0015, 2026-03-01: ")
    assert said[1].startswith("n0008, 2026-03-01: ")
    assert float(said[1].split()[2]) < 94 < float(said[0].split()[2])
