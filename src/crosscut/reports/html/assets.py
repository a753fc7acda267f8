"""Styles and scripts, inlined into the page.

The scripts are ES modules that import each other, so that each can be tested by itself. A single-file page
cannot import, so they are concatenated without their `import` and `export`.
"""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib.resources import files

from crosscut.base.errors import CrosscutError
from crosscut.reports.html.markup import Markup

# In order of dependency.
LIBRARIES = ("vendor/d3-7.9.0.min.js", "vendor/plot-0.6.17.umd.min.js")
MODULES = (
    "dom.js", "format.js", "columns.js", "names.js", "theme.js", "plots.js", "legend.js", "download.js",
    "matrix_model.js", "matrix_axes.js", "matrix.js", "bars.js", "nights.js", "sizes.js", "main.js",
)  # fmt: skip
_IMPORT = re.compile(r'^import [^;]*? from "\./[a-z_]+\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|class) )", re.MULTILINE)


@cache
def read(name: str) -> str:
    text = (files("crosscut.reports.html") / "assets" / name).read_text(encoding="utf-8")
    # A closing tag would end the element early and leave the rest of the script as text on the page.
    if re.search(r"</(?:script|style)|<!--", text, re.IGNORECASE):
        raise CrosscutError(f"the asset {name} holds a closing tag and cannot be put into a page")
    return text


def joined_modules() -> str:
    return "\n".join(_EXPORT.sub("", _IMPORT.sub("", read(name))) for name in MODULES)


def scripts() -> tuple[Markup, str]:
    """Returns (script elements, content security policy that allows only these scripts)."""
    sources = [*(read(name) for name in LIBRARIES), joined_modules()]
    kinds = [*("" for _ in LIBRARIES), ' type="module"']
    hashes = " ".join(f"'sha256-{_digest(source)}'" for source in sources)
    policy = (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )
    elements = (f"<script{kind}>{source}</script>" for kind, source in zip(kinds, sources, strict=True))
    return Markup("\n".join(elements)), policy


def _digest(source: str) -> str:
    return base64.b64encode(hashlib.sha256(source.encode()).digest()).decode("ascii")
