"""Options of starting ranks, where none are started."""

from __future__ import annotations

import pytest

from crosscut.base import core
from crosscut.base.errors import UsageError
from crosscut.places import sim
from crosscut.places.base import StartOptions
from crosscut.session.measure import Launch, decide


@pytest.mark.parametrize("name", sim.PLACE.unused)
def test_an_option_without_effect_is_refused_in_a_simulation(name: str) -> None:
    given = ("x",) if isinstance(getattr(StartOptions(), name), tuple) else "x"
    launch = Launch(on="sim:two-leaves-16", ranks=2, **{name: given})  # type: ignore[arg-type]
    with pytest.raises(
        UsageError, match=r"^--(interface|control-interface|launcher|launcher-args|core-path): has no effect"
    ):
        decide(core.load(), launch)
