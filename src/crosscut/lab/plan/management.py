"""Names and addresses of a lab's management network, which is apart from its links (Slurm's own traffic)."""

from __future__ import annotations

from crosscut.lab.plan import addresses

LOGIN = "login"
"""One more host, where slurmctld runs and where people work."""
DEVICE = "mgmt"
"""The adapter of every host on this network."""
# Adapters of a node have numbers below addresses.MOST_ADAPTERS, and thus other subnets.
_SUBNET = 250


def address(host: int) -> str:
    """A node's address on the management network."""
    return addresses.ip(host, _SUBNET)


def login_address() -> str:
    return addresses.ip(addresses.MOST_HOSTS, _SUBNET)
