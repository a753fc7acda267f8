"""The acceptance protocol: one page to sign or send, as HTML or as PDF printed by Chromium."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from crosscut import __version__
from crosscut.analysis.compare.promises import Checked, PromiseVerdict
from crosscut.analysis.compare.spec import Spec
from crosscut.analysis.figures.cautions import Caution
from crosscut.base import units, whole_file
from crosscut.base.errors import CrosscutError, UsageError
from crosscut.base.spelling import tied
from crosscut.reports.html import assets
from crosscut.reports.html.markup import Markup, document, element, join
from crosscut.reports.view import items
from crosscut.reports.view import text as text_of
from crosscut.reports.words import check as words_check
from crosscut.reports.words import check_cautions
from crosscut.run.run import Run

_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_PDF_SECONDS = 60
_QUIETLY = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def page(
    spec: Spec, checked: Checked, names: Sequence[str], *, redact: bool, cautions: Sequence[Caution] = ()
) -> str:
    judged = checked.judged
    worst = words_check.worst(judged)
    body = join(
        element("p", "Acceptance protocol · network measured by crosscut ", __version__, class_="kicker"),
        element("h1", spec.title),
        element("p", words_check.headline(judged), class_=f"result {worst.value}"),
        _table(judged, names),
        _cautions(cautions),
        element("h2", "What was measured"),
        _conditions(checked.runs, redact=redact),
        element("h2", "How it was judged"),
        element("p", tied(_method(spec, judged)), class_="small"),
        _spec(spec, redact=redact),
        element(
            "div",
            element("div", "For the customer: place, date, name"),
            element("div", "For the vendor: place, date, name"),
            class_="sign",
        ),
    )
    title = f"{spec.title}: acceptance protocol"
    return document(title, element("main", body), policy=_POLICY, style=assets.read("protocol.css"))


def _table(judged: Sequence[PromiseVerdict], names: Sequence[str]) -> Markup:
    heads = ("Promise", "Promised", "Measured", "Verdict", "Error probability")
    rows = [
        element(
            "tr",
            element(
                "th",
                element("strong", one.promise.name),
                element("p", words_check.what(one.promise), class_="small"),
                scope="row",
            ),
            element("td", tied(one.promise.said)),
            element(
                "td",
                tied(words_check.measured(one, names)),
                *(element("p", tied(said), class_="small") for said in words_check.notes(one, names)),
            ),
            element("td", words_check.SIGNS[one.verdict], class_=f"verdict {one.verdict.value}"),
            element("td", words_check.at_most(one) or "–"),
        )
        for one in judged
    ]
    return element(
        "table", element("thead", element("tr", [element("th", head, scope="col") for head in heads])),
        element("tbody", rows),
    )  # fmt: skip


def _cautions(found: Sequence[Caution]) -> Markup | None:
    if not found:
        return None
    return join(
        element("h2", "Before you rely on these verdicts"),
        element("ul", [element("li", str(one)) for one in found], class_="cautions"),
    )


def _conditions(runs: Sequence[Run], *, redact: bool) -> Markup:
    if not runs:
        return element("p", "Nothing.", class_="small")
    first, last = runs[0].attributes, runs[-1].attributes
    nodes = {name for run in runs for name in run.node_names}
    ranks = units.count(max(run.ranks for run in runs), "rank")
    patterns = dict.fromkeys(text_of(run.attributes, "pattern", "name") for run in runs)
    start, end = text_of(first, "start"), text_of(last, "end")
    facts = [
        ("Time", f"{start or 'unknown'} to {end or 'unknown'}" if start or end else ""),
        ("Runs", f"{units.count(len(runs), 'run')} of {', '.join(patterns)}"),
        ("Ranks", f"{ranks} on {units.count(len(nodes), 'node')}"),
        ("Over", "; ".join(dict.fromkeys(map(_over, runs)))),
        ("Cadence", text_of(first, "cadence")),
        ("Planted", "; ".join(check_cautions.planted(runs))),
    ]
    if not redact:
        facts += [
            ("Network", text_of(first, "network", "title")),
            ("Nodes", _few(sorted(nodes))),
            ("Command", " ".join(map(str, items(first, "command_line")))),
        ]
    if beware := check_cautions.not_built(runs):
        facts.insert(0, ("Beware", beware))
    rows = [join(element("dt", name), element("dd", value)) for name, value in facts if value.strip()]
    return element("dl", rows)


def _over(run: Run) -> str:
    """`tcp, simulated`"""
    return ", ".join(
        filter(None, (text_of(run.attributes, "backend", "name"), text_of(run.attributes, "place")))
    )


def _few(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 16 else f"{', '.join(names[:8])}, …, {names[-1]}"


def _method(spec: Spec, judged: Sequence[PromiseVerdict]) -> str:
    if all(one.exact for one in judged):
        return (
            "Rates are in bytes per second and direction; 1 MB = 10^6 bytes. They were computed, not "
            "measured: repetitions are equal, so one decides, and verdicts have no error probability."
        )
    return (
        "Rates are in bytes per second and direction; 1 MB = 10^6 bytes. A promise is kept if, for every "
        "quantity that it names, the median over repetitions meets the bound (or, if it says so, the stated "
        "share of repetitions does). Each verdict comes from a sequential test that stays valid whenever "
        "measuring stops (a betting martingale for a quantile: Ville 1939; Howard and Ramdas 2022): the "
        f"probability that any verdict on this page is wrong is at most {units.percent(spec.error_rate)}. "
        "Calling a promise kept takes evidence for every single quantity; calling it broken takes evidence "
        "that not all meet the bound. Repetitions are assumed to be independent."
    )


def _spec(spec: Spec, *, redact: bool) -> Markup:
    digest = hashlib.sha256(spec.text.encode("utf-8")).hexdigest()
    told = element("p", f"SHA-256 of the spec file: {digest}", class_="small")
    if redact:  # a spec may name nodes
        return told
    return join(told, element("details", element("summary", "The file"), element("pre", spec.text)))


def refuse(path: Path) -> None:
    """Raises, before anything is measured, if `path` is not .html or .pdf, or is .pdf without Chromium."""
    ending = path.suffix.lower()
    if ending not in (".html", ".pdf"):
        raise UsageError(f"--protocol {path}: a protocol must be an .html or .pdf file")
    if ending == ".pdf":
        _browser(path)


def _browser(path: Path) -> str:
    found = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if found is None:
        raise CrosscutError(
            f"--protocol {path}: PDF needs Chromium, which is not installed; install it, or name a .html file"
        )
    return found


def write(
    path: Path, spec: Spec, checked: Checked, names: Sequence[str], *, redact: bool,
    cautions: Sequence[Caution] = (),
) -> None:  # fmt: skip
    content = page(spec, checked, names, redact=redact, cautions=cautions).encode("utf-8", "replace")
    if path.suffix.lower() != ".pdf":
        whole_file.write_output(path, content)
        return
    browser = _browser(path)
    with tempfile.TemporaryDirectory(prefix="crosscut-protocol-") as folder:
        made = _print(browser, Path(folder), content)
    whole_file.write_output(path, made)


def _print(browser: str, folder: Path, content: bytes) -> bytes:
    html, pdf = folder / "protocol.html", folder / "protocol.pdf"
    html.write_bytes(content)
    command = [
        browser, *_QUIETLY, f"--user-data-dir={folder / 'profile'}", "--no-pdf-header-footer",
        f"--print-to-pdf={pdf}", html.as_uri(),
    ]  # fmt: skip
    try:
        subprocess.run(command, capture_output=True, timeout=_PDF_SECONDS, check=True)
        return pdf.read_bytes()
    except (OSError, subprocess.SubprocessError) as error:
        raise CrosscutError(
            f"{browser} failed to print the PDF of the protocol; name a .html file instead"
        ) from error
