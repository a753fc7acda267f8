"""Where a run was measured, as its attributes tell, which may be anything."""

from __future__ import annotations

import pytest

from crosscut.run import realm


@pytest.mark.parametrize(
    ("backend", "virtual"),
    [({"name": "null"}, True), ({"name": "sim"}, True), ({"name": "tcp"}, False), ({"name": [1]}, False),
     ({"name": {}}, False), ({"name": 1 << 70}, False), ("null", False), (None, False)],
)  # fmt: skip
def test_a_backend_of_any_value_has_a_virtual_clock_or_not(backend: object, virtual: bool) -> None:
    assert realm.has_virtual_clock({"backend": backend}) is virtual
