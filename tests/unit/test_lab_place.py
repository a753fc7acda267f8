"""Which adapters of a lab's nodes the ranks of a session listen on."""

from __future__ import annotations

import pytest

from crosscut.lab.ways import Host
from crosscut.places.lab import rails


def host(adapters: int, forwards: str = "no") -> Host:
    return Host("n0", tuple(range(adapters)), 1, forwards, 0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("hosts", "expected"),
    [
        ([host(1), host(1)], 1),
        ([host(2), host(2)], 2),
        ([host(3), host(2), host(8)], 2),  # what all have
        ([host(4, "ip"), host(4, "ip")], 1),  # a router is known by one address, whichever cable leads to it
        ([host(2), host(2, "hardware")], 1),
        ([host(0), host(0)], 1),
    ],
)
def test_rails_are_adapters_that_every_host_has_an_address_on(hosts: list[Host], expected: int) -> None:
    assert rails(hosts) == expected
