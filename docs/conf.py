"""Sphinx configuration. `make docs` treats every warning, and so every broken link, as an error."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
with (ROOT / "pyproject.toml").open("rb") as file:
    metadata = tomllib.load(file)["project"]

project = metadata["name"]
author = metadata["authors"][0]["name"]
copyright = author
release = version = metadata["version"]

extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
# Make headings link targets, as forges that render these files do.
myst_heading_anchors = 3
# Some blocks highlighted as JSON are not valid JSON, since they contain an ellipsis (…).
suppress_warnings = ["misc.highlighting_failure"]

html_theme = "furo"
html_title = f"crosscut {release}"
html_show_copyright = False

linkcheck_timeout = 20
linkcheck_retries = 2
