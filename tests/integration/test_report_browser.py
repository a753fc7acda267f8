"""The report in a real Chromium, from disk, without network: drawing, zoom, screen readers, print, export."""

import csv
import json
import re
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from browser import Tab, chromium
from tiers import long

from crosscut import cli
from crosscut.base import core
from crosscut.base.core import CoreError

HOSTILE = "</script><script>document.title='owned'</script><img src=x onerror=document.title='owned'>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Two runs on the Enterasys E7, a sweep, and messages under load, all simulated; and their reports."""
    try:
        core.load()
    except CoreError as error:
        pytest.skip(f"needs the core: {error}")
    folder = tmp_path_factory.mktemp("report")
    e7 = "sim:xibalba-e7-config1"
    runs = {
        "e7": ("aapc", "--on", e7, "-n", "64", "--size", "1MB"),
        "er16": ("aapc", "--on", "sim:xibalba-er16", "-n", "64", "--size", "1MB"),
        "sweep": ("pingpong", "--on", e7, "-n", "2"),
        "loaded": ("loaded-pingpong", "--on", e7, "-n", "16"),
        "streams": ("streams", "--on", e7, "-n", "8"),
    }
    for name, words in runs.items():
        assert cli.main(["run", *words, "--quiet", "--out", str(folder / f"{name}.zarr")]) == 0
        assert cli.main(["report", str(folder / f"{name}.zarr"), "-o", str(folder / f"{name}.html")]) == 0
    both = [str(folder / "e7.zarr"), str(folder / "er16.zarr")]
    assert cli.main(["report", *both, "-o", str(folder / "both.html")]) == 0
    return folder


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture
def tab(browser, folder):
    tabs = []

    def opened(name: str = "e7", **context) -> Tab:
        tabs.append(Tab(browser, folder / f"{name}.html", **context))
        return tabs[-1]

    yield opened
    for one in tabs:
        one.context.close()
    for one in tabs:
        assert one.complaints == []
        assert all(url.startswith(("file:", "blob:", "data:")) for url in one.requests), one.requests


@pytest.mark.parametrize(
    ("name", "scheme"),
    [
        *((name, "light") for name in ("both", "sweep", "loaded", "streams")),
        ("both", "dark"),
        *(long(name, "dark") for name in ("e7", "sweep", "loaded", "streams")),
        long("e7", "light"),
    ],
)
def test_every_picture_is_drawn_without_a_complaint(tab, name, scheme):
    page = tab(name, color_scheme=scheme)
    names = page.show_all()
    assert names
    drawn = page.page.eval_on_selector_all(
        "figure .plot", "plots => plots.map(p => p.querySelector('svg, canvas') !== null)"
    )
    assert drawn == [True] * len(names)


def test_links_hit_although_pictures_are_drawn_only_near_the_viewport(tab):
    page = tab("both").page
    for link in page.locator("nav a").all():
        link.click()
        page.wait_for_timeout(300)
        page.wait_for_selector("figure[data-drawn=yes]")
        page.wait_for_timeout(700)
        target = link.get_attribute("href")
        top = page.evaluate(f"document.querySelector('{target}').getBoundingClientRect().top")
        bottom = page.evaluate(
            "document.documentElement.scrollHeight - document.documentElement.scrollTop - innerHeight"
        )
        assert 0 <= top < 120 or bottom < 5, (target, top)


def test_the_first_sentence_is_the_verdict_and_the_next_says_where_the_network_falls_short(tab):
    page = tab().page
    assert page.inner_text("h1").startswith("No fault stands out, but there is a shared limit: traffic ")
    shape = page.locator(".findings li").first.inner_text().replace("\u00a0", " ")
    assert shape.startswith("47 of 63 phases are slower than the fastest")


def test_pointing_at_a_cell_names_its_route_and_rate(tab):
    page = tab()
    figure = page.show("run1-routes")
    canvas = figure.locator(".stage canvas")
    box = canvas.bounding_box()
    left = 84  # of the axis
    side = (box["width"] - left - 2) / 64
    canvas.hover(position={"x": left + 32.5 * side, "y": 40 + 0.5 * side})
    route, rate = figure.locator(".tip").inner_text().splitlines()
    assert route == "n0000 → n0032"
    assert re.fullmatch(r"2\.97 MB/s, [0-9.]+ % of the median route", rate)
    canvas.hover(position={"x": left + 5.5 * side, "y": 40 + 5.5 * side})
    assert figure.locator(".tip").inner_text().splitlines()[1] == "not measured"


def test_zooming_in_shows_fewer_routes_and_whole_shows_all(tab, tmp_path):
    page = tab()
    rows = lambda: len(page.save("run1-routes", "CSV", tmp_path).read_text().splitlines()) - 1  # noqa: E731
    assert rows() == 64 * 63
    figure = page.show("run1-routes")
    figure.get_by_role("button", name="zoom in").click()
    assert 32 * 31 <= rows() <= 34 * 34
    figure.get_by_role("button", name="show all ranks").click()
    assert rows() == 64 * 63


def test_the_wheel_zooms_with_ctrl_and_otherwise_scrolls_the_page(tab):
    page = tab()
    figure = page.show("run1-routes")
    canvas = figure.locator(".stage canvas")
    before = canvas.evaluate("canvas => canvas.toDataURL()")
    canvas.hover(position={"x": 300, "y": 300})
    top = page.page.evaluate("scrollY")
    page.page.mouse.wheel(0, 60)
    page.until(f"scrollY > {top}")
    canvas.hover(position={"x": 300, "y": 300})
    page.page.keyboard.down("Control")
    page.page.mouse.wheel(0, -400)
    page.page.keyboard.up("Control")
    page.page.mouse.move(0, 0)
    picture = "document.querySelector('#run1-routes .stage canvas').toDataURL()"
    page.until(f"{picture} !== {json.dumps(before)}")


def test_the_keyboard_moves_over_routes_and_a_screen_reader_speaks_them(tab):
    page = tab()
    figure = page.show("run1-routes")
    canvas = figure.locator(".stage canvas")
    canvas.focus()
    for key in ("ArrowRight", "Shift+ArrowRight", "ArrowUp"):
        page.page.keyboard.press(key)
    readout = figure.locator(".readout")
    assert readout.get_attribute("aria-live") == "polite"
    assert readout.inner_text() == "n0031 → n0043: 7.91 MB/s, 66.7 % of the median route"


def test_every_control_can_be_reached_and_has_a_name(tab):
    page = tab()
    page.show_all()
    unnamed = page.page.eval_on_selector_all(
        "button, select, canvas, svg[role=img], [role=region]",
        """all => all.filter(e => !(e.getAttribute('aria-label') || e.textContent.trim() || e.labels?.length))
        .map(e => e.outerHTML.slice(0, 80))""",
    )
    assert unnamed == []
    reached = set()
    for _ in range(80):
        page.page.keyboard.press("Tab")
        reached.add(page.page.evaluate("document.activeElement.tagName"))
    assert {"A", "BUTTON", "SELECT", "CANVAS", "SUMMARY"} <= reached


def test_a_picture_is_saved_as_svg_png_and_csv(tab, tmp_path):
    page = tab()
    svg = ElementTree.parse(page.save("run1-phases", "SVG", tmp_path)).getroot()
    assert svg.tag == "{http://www.w3.org/2000/svg}svg"
    assert "var(--" not in ElementTree.tostring(svg, encoding="unicode").partition("<style")[0]
    for name in ("run1-phases", "run1-routes", "run1-network"):
        assert page.save(name, "PNG", tmp_path).read_bytes().startswith(b"\x89PNG")
    text = page.save("run1-phases", "CSV", tmp_path).read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    assert [int(row["at"]) for row in rows] == list(range(1, 64))
    assert min(float(row["rate"]) for row in rows) == pytest.approx(float(rows[31]["rate"]))


def test_runs_are_distinguished_without_colours_and_in_saved_pictures(tab, tmp_path):
    page = tab("both")
    page.show_all()
    for name, form, marks in (
        ("phases", "stroke-dasharray", "g[aria-label='line']"), ("ranks", "d", "g[aria-label='dot'] path"),
    ):  # fmt: skip
        figure = page.page.locator(f"#together-aapc-{name}")
        shown = figure.locator(".runs svg > *").evaluate_all(f"all => all.map(e => e.getAttribute('{form}'))")
        assert len(set(shown)) == 2
        drawn = figure.locator(f".plot > svg {marks}").evaluate_all(
            f"all => all.map(e => e.getAttribute('{form}'))"
        )
        assert len(set(drawn)) == 2
        svg = ElementTree.parse(page.save(f"together-aapc-{name}", "SVG", tmp_path)).getroot()
        words = [text.text for text in svg.iter("{http://www.w3.org/2000/svg}text")]
        assert {"e7", "er16"} <= set(words)
        # The label is beside its mark, not over it.
        assert 'text-anchor="start">er16</text>' in ElementTree.tostring(svg, encoding="unicode").replace(
            "ns0:", ""
        )
        _, top, _, height = map(float, svg.get("viewBox").split())
        assert (top < -10, float(svg.get("height"))) == (True, height)
        page.save(f"together-aapc-{name}", "PNG", tmp_path)


def test_a_tooltip_names_the_phase_near_the_pointer(tab):
    page = tab()
    svg = page.show("run1-phases").locator(".plot svg").first
    box = svg.bounding_box()
    svg.hover(position={"x": box["width"] / 2 + 20, "y": 200})
    assert "phase 32 (distance 32)" in svg.text_content()


def test_the_table_of_a_picture_opens_with_its_figures(tab):
    page = tab()
    figure = page.show("run1-phases")
    figure.locator("summary").click()
    figure.locator("table").wait_for()
    assert figure.locator("tbody tr").count() == 63


def test_the_theme_can_be_switched_and_is_kept(tab):
    page = tab(color_scheme="light")
    ground = lambda: page.page.evaluate("getComputedStyle(document.body).backgroundColor")  # noqa: E731
    light = ground()
    button = page.page.locator("#theme")
    button.click()
    assert ground() == light
    button.click()
    assert button.inner_text() == "Theme: dark"
    assert ground() != light
    # Chromium stores it in another process, for which an immediate reload does not wait.
    deadline = time.monotonic() + 20
    page.page.reload()
    while ground() == light and time.monotonic() < deadline:
        page.page.reload()
    assert ground() != light


@pytest.mark.parametrize("name", ["e7", "both", "streams"])
def test_a_phone_scrolls_in_one_direction_only(tab, name):
    page = tab(name, viewport={"width": 360, "height": 740}, device_scale_factor=2)
    page.show_all()
    assert page.page.evaluate("document.documentElement.scrollWidth") <= 360


def test_print_has_every_picture_and_no_buttons(tab):
    page = tab()
    page.page.emulate_media(media="print")
    pdf = page.page.pdf(format="A4")
    assert pdf.startswith(b"%PDF")
    page.until("document.querySelectorAll('figure:not([data-drawn=yes])').length === 0")
    assert not page.page.locator(".tools").first.is_visible()
    assert page.page.locator("figcaption").first.is_visible()


def test_the_drawing_of_the_network_has_its_capacities(tab):
    wide, narrow = tab().show("run1-network").locator("svg").all()
    assert "1.6 Gbit/s" in wide.text_content()
    assert "module3" in wide.text_content()
    assert (wide.is_visible(), narrow.is_visible()) == (True, False)


def test_nothing_is_clipped_on_a_phone(tab):
    page = tab("both", viewport={"width": 400, "height": 800})
    page.show_all()
    clipped = page.page.eval_on_selector_all(
        "nav a, nav button, figcaption, caption span, .plot svg, .plot canvas",
        """all => all.filter(e => e.checkVisibility() && e.clientWidth)
        .filter(e => e.getBoundingClientRect().right > 400 || e.scrollWidth > e.clientWidth + 1)
        .map(e => e.outerHTML.slice(0, 80))""",
    )
    assert clipped == []
    wide, narrow = page.page.locator("#run1-network svg").all()
    assert (wide.is_visible(), narrow.is_visible()) == (False, True)
    # A wide table scrolls inside its own box.
    assert page.page.eval_on_selector("#tables .scroll", "box => getComputedStyle(box).overflowX") == "auto"


def test_the_ticks_of_an_axis_have_equally_many_decimals(tab):
    page = tab()
    page.show_all()
    axes = page.page.eval_on_selector_all(
        ".plot [aria-label$='axis tick label']",
        "all => all.map(axis => [...axis.querySelectorAll('text')].map(text => text.textContent))",
    )
    assert axes
    for words in axes:
        decimals = {len(word.partition(".")[2]) for word in words if word.replace(".", "").isdigit()}
        assert len(decimals) <= 1, words


def test_the_axis_of_ranks_names_hosts(tab):
    said = tab().show("run1-ranks").locator(".plot svg").text_content()
    assert "n0000–0015" in said
    assert "node" in said


def test_drawings_have_their_figures_as_csv(tab, tmp_path):
    page = tab()
    text = page.save("run1-network", "CSV", tmp_path).read_text(encoding="utf-8")
    links = list(csv.DictReader(text.splitlines()))
    assert {row["from"][:1] for row in links} >= {"n"}
    assert {row["bits_per_second"] for row in links} >= {"100000000"}
    text = page.save("run1-structure", "CSV", tmp_path).read_text(encoding="utf-8")
    found = list(csv.DictReader(text.splitlines()))
    assert [row["ranks"] for row in found if row["what"] == "group"] == ["32", "32"]
    assert any(float(row["bytes_per_second"] or 0) == pytest.approx(94.9e6, rel=0.01) for row in found)


def test_hostile_names_stay_text_in_the_page_and_in_its_tooltips(browser, folder, tmp_path):
    run = tmp_path / "hostile.zarr"
    assert (
        cli.main(
            [
                "run",
                "aapc",
                "--on",
                "sim:xibalba-er16",
                "-n",
                "4",
                "--size",
                "1MB",
                "--quiet",
                "--out",
                str(run),
            ]
        )
        == 0
    )
    metadata = json.loads((run / "zarr.json").read_text())
    attributes = metadata["attributes"]
    attributes["nodes"] = [{"name": HOSTILE, "kernel": HOSTILE}] * 4
    attributes["phase_labels"] = [HOSTILE] * 3
    attributes["network"]["title"] = HOSTILE
    (run / "zarr.json").write_text(json.dumps(metadata))
    out = tmp_path / "hostile.html"
    assert cli.main(["report", str(run), "-o", str(out)]) == 0
    tab = Tab(browser, out)
    tab.show_all()
    figure = tab.show("run1-routes")
    canvas = figure.locator(".stage canvas")
    canvas.hover(position={"x": 300, "y": 100})
    assert HOSTILE in figure.locator(".tip").inner_text()
    assert tab.page.title() == "hostile · crosscut"
    assert tab.page.locator("img").count() == 0
    assert tab.complaints == []
    tab.context.close()


def test_the_policy_keeps_an_injected_script_from_running(browser, folder, tmp_path):
    page = (folder / "e7.html").read_text(encoding="utf-8")
    out = tmp_path / "broken-into.html"
    out.write_text(
        page.replace("</main>", "<script>document.title='owned'</script></main>", 1), encoding="utf-8"
    )
    tab = Tab(browser, out)
    assert "owned" not in tab.page.title()
    assert any("Content Security Policy" in complaint for complaint in tab.complaints)
    tab.context.close()


@pytest.fixture(scope="module")
def sized(folder) -> Path:
    """A run of three sizes, checked against promises, as `sized.html`; and next to another run."""
    spec = folder / "spec.toml"
    spec.write_text(
        'title = "E7"\n[[promise]]\nname = "phases"\nkind = "phase"\nat_least = "10 MB/s"\nsize = "1MB"\n'
        '[[promise]]\nname = "routes"\nkind = "route"\nat_least = "2 MB/s"\nsize = "100KB"\n'
    )
    sizes = ("--size", "10KB,100KB,1MB", "--repetitions", "12")
    for name, network in (("sized", "xibalba-e7-config1"), ("other", "xibalba-er16")):
        words = ("aapc", "--on", f"sim:{network}", "-n", "16", *sizes, "--quiet")
        assert cli.main(["run", *words, "--out", str(folder / f"{name}.zarr")]) == 0
    runs = [str(folder / "sized.zarr"), str(folder / "other.zarr")]
    assert cli.main(["report", runs[0], "--spec", str(spec), "-o", str(folder / "sized.html")]) == 0
    assert cli.main(["report", *runs, "-o", str(folder / "sized-both.html")]) == 0
    return folder


def shown_sizes(page) -> set[str]:
    chosen = "selects => selects.map(one => one.selectedOptions[0].textContent)"
    return set(page.page.eval_on_selector_all("figure select[aria-label^='Message size']", chosen))


def test_a_size_chosen_with_the_keyboard_changes_all_pictures_of_the_run(tab, sized):
    page = tab("sized")
    page.show_all()
    assert shown_sizes(page) == {"1 MB"}
    figure = page.page.locator("#run1-routes")
    before = figure.locator("figcaption").inner_text()
    page.page.locator("#run1-phases select[aria-label^='Message size']").focus()
    page.page.keyboard.press("ArrowUp")
    assert shown_sizes(page) == {"100 KB"}
    page.show_all()
    assert "at 100\u00a0KB" in figure.locator("figcaption").inner_text()
    assert before != figure.locator("figcaption").inner_text()
    assert "100 KB messages" in page.page.locator("#run1-phases figcaption").inner_text().replace(
        "\u00a0", " "
    )


def test_the_map_keeps_zoom_order_and_cursor_from_size_to_size(tab, sized, tmp_path):
    page = tab("sized")
    figure = page.show("run1-routes")
    figure.get_by_role("button", name="zoom in").click()
    figure.locator(".stage canvas").focus()
    page.page.keyboard.press("ArrowRight")
    route = figure.locator(".readout").inner_text().partition(":")[0]
    rows = len(page.save("run1-routes", "CSV", tmp_path).read_text().splitlines())
    figure.locator("select[aria-label^='Message size']").select_option(label="10 KB")
    page.show("run1-routes")
    assert figure.locator(".readout").inner_text().partition(":")[0] == route
    saved = page.save("run1-routes", "CSV", tmp_path)
    assert saved.name == "run1-routes-10000B.csv"
    assert len(saved.read_text().splitlines()) == rows


def test_after_several_choices_the_last_size_is_shown(tab, sized):
    page = tab("sized")
    page.show("run1-routes")
    select = page.page.locator("#run1-routes select[aria-label^='Message size']")
    select.focus()
    for key in ("ArrowUp", "ArrowUp", "ArrowDown", "ArrowUp"):
        page.page.keyboard.press(key)
    page.show("run1-routes")
    assert shown_sizes(page) == {"10 KB"}
    label = page.page.locator("#run1-routes .stage canvas").get_attribute("aria-label")
    assert "at 10\u00a0KB" in label


def test_an_open_table_follows_the_size(tab, sized):
    page = tab("sized")
    figure = page.show("run1-phases")
    figure.locator("summary").click()
    figure.locator("table").wait_for()
    told = figure.locator("table caption").inner_text()
    assert told == "Rate by communication distance, 1 MB; rates in bytes per second"
    figure.locator("select[aria-label^='Message size']").select_option(label="10 KB")
    figure.locator("table caption", has_text="10 KB").wait_for()
    assert figure.locator("table").count() == 1


def test_runs_side_by_side_follow_a_choice_of_their_own(tab, sized):
    page = tab("sized-both")
    page.show_all()
    page.page.locator("#together-aapc-phases select").select_option(label="10 KB")
    page.show_all()
    assert "10 KB messages" in page.page.locator("#together-aapc-phases figcaption").inner_text().replace(
        "\u00a0", " "
    )
    assert "1 MB messages" in page.page.locator("#run1-phases figcaption").inner_text().replace("\u00a0", " ")


def test_the_proof_of_a_verdict_opens_at_the_promised_size(tab, sized):
    page = tab("sized")
    assert page.page.inner_text("h1") == "Accepted: All promises are kept."
    page.page.locator("#verdicts a[href='#run1-route-histogram']").click()
    figure = page.show("run1-route-histogram")
    assert shown_sizes(page) == {"100 KB"}
    assert "promised" in figure.locator(".plot svg").text_content()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_verdicts_and_sizes_fit_on_a_phone(tab, sized, scheme):
    page = tab("sized", viewport={"width": 360, "height": 740}, color_scheme=scheme)
    page.show_all()
    assert page.page.evaluate("document.documentElement.scrollWidth") <= 360
