"""Texts of a file that reach a terminal or a page."""

from __future__ import annotations

from crosscut.base.toml_fields import Table

LONGEST = 400


def line(table: Table, key: str, default: str | None = None) -> str:
    """One line that can be shown: no control characters, which a terminal would obey."""
    text = table.text(key, default)
    if not text.isprintable() or len(text) > LONGEST:
        table.fail(key, f"write one line of at most {LONGEST} characters that can be printed")
    if default is None and not text.strip():
        table.fail(key, "is empty")
    return text
