"""Pages of what other programs measured, in a real Chromium, from disk, without network."""

from __future__ import annotations

from pathlib import Path

import pytest
from browser import Tab, chromium

from crosscut import cli

FILES = Path(__file__).parents[1] / "golden" / "imports"
# Each format, and how many pictures its page has.
PAGES = {
    "osu_bw.txt": 2, "mpigraph-slow-host.txt": 7, "hp2p-slow-host.html": 7, "iperf3-both-ways.json": 2,
    "netpipe.out": 2, "sockperf.csv": 0, "perftest-ib_write_bw.txt": 2,
}  # fmt: skip


@pytest.mark.parametrize("width", [1280, 400])
def test_the_page_of_every_import_draws_all_pictures_within_its_width(width: int, tmp_path: Path) -> None:
    with chromium() as browser:
        for name, pictures in PAGES.items():
            run, page = tmp_path / f"{name}.zarr", tmp_path / f"{name}.page.html"
            assert cli.main(["import", str(FILES / name), "-o", str(run)]) == 0
            assert cli.main(["report", str(run), "-o", str(page)]) == 0
            tab = Tab(browser, page, viewport={"width": width, "height": 900})
            assert (name, len(tab.show_all())) == (name, pictures)
            assert (name, tab.page.evaluate("document.documentElement.scrollWidth")) == (name, width)
            assert (name, tab.complaints) == (name, [])
            tab.context.close()
