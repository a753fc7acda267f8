"""Links, bridges, buckets and redirections of one network namespace, through rtnetlink (pyroute2).

A `Kernel` stays connected to the namespace in which it was made, even if its process enters another. Device
names are resolved in the process's current namespace.
"""

from __future__ import annotations

import fcntl
import math
import socket
import struct
from contextlib import AbstractContextManager

from pyroute2 import IPRoute
from pyroute2.netlink.exceptions import NetlinkError

from crosscut.base.errors import CrosscutError
from crosscut.lab.kernel import bulk
from crosscut.lab.plan.shaping import Bucket

_INGRESS, _EGRESS = 0xFFFFFFF2, 0xFFFFFFF3  # hooks of clsact: linux/pkt_sched.h
_ALL_PROTOCOLS = 3  # ETH_P_ALL
_EVERYTHING = ["0x0/0x0+0"]
_CLASS = 0x10001  # a filter must name one, but nothing reads it
_SIOCETHTOOL, _ETHTOOL_SET_GRO = 0x8946, 0x2C  # linux/sockios.h, linux/ethtool.h
_PRIORITY = 10
_LEAST_BUNDLES = 8


class Kernel(AbstractContextManager["Kernel"]):
    def __init__(self) -> None:
        self._route = IPRoute()

    def __exit__(self, *_: object) -> None:
        self._route.close()

    def _ask(self, what: str, *words: object, **options: object) -> None:
        try:
            getattr(self._route, what)(*words, **options)
        except NetlinkError as error:
            shown = " ".join(map(str, words)) + "".join(f" {key}={value}" for key, value in options.items())
            raise CrosscutError(f"the kernel refuses {what} {shown}: {error.args[-1]}") from error

    def add_bridge(self, name: str, mtu: int) -> None:
        """Adds a bridge that sends no frames of its own. `plug` keeps ports from learning and flooding."""
        self._ask("link", "add", kind="bridge", ifname=name, mtu=mtu, br_stp_state=0, br_mcast_snooping=0)
        self.change(name, state="up")

    def add_pair(self, name: str, peer: str, peer_namespace: int | None, mtu: int, segments: int) -> None:
        """Adds a cable from here to the namespace with the descriptor `peer_namespace` (None: here, too)."""
        end = {"num_tx_queues": 1, "num_rx_queues": 1, "mtu": mtu, "gso_max_segs": segments}
        there = {"ifname": peer, **end} | ({} if peer_namespace is None else {"net_ns_fd": peer_namespace})
        self._ask("link", "add", kind="veth", ifname=name, peer=there, **end)

    def add_medium(self, name: str, bucket: Bucket) -> None:
        """Adds a bucket that several ports share, as a device of its own."""
        self._ask("link", "add", kind="ifb", ifname=name, num_tx_queues=1, num_rx_queues=1)
        self.change(name, state="up")
        self.shape(name, bucket)

    def remove(self, name: str) -> None:
        self._ask("link", "del", index=index_of(name))

    def change(self, name: str, **values: object) -> None:
        self._ask("link", "set", index=index_of(name), **values)

    def state(self, name: str) -> str:
        """Operational state of a device (RFC 2863), such as UP; UNKNOWN until the kernel has determined it.

        netdevice(7)'s IFF_RUNNING says less: it is also set while the state is UNKNOWN.
        """
        return str(self._route.get_links(index_of(name))[0].get_attr("IFLA_OPERSTATE"))

    def add_address(self, name: str, address: str, prefix_length: int) -> None:
        self._ask("addr", "add", index=index_of(name), address=address, prefixlen=prefix_length)

    def join(self, port: str, bridge: str) -> None:
        """Makes a device a port of a bridge that learns and floods."""
        self.change(port, master=index_of(bridge), state="up")

    def plug(self, port: str, bridge: str) -> None:
        self.join(port, bridge)
        silent = {"learning": 0, "unicast_flood": 0, "mcast_flood": 0, "bcast_flood": 0}
        self._ask("brport", "set", index=index_of(port), **silent)

    def shape(self, name: str, bucket: Bucket) -> None:
        """Shapes the frames that leave by this device, replacing any former bucket."""
        self._ask(
            "tc", "replace", "tbf", index_of(name), handle=bulk.BUCKET,
            rate=f"{math.floor(bucket.bits_per_second)}bit",
            burst=bucket.burst_bytes, limit=bucket.limit_bytes,
        )  # fmt: skip

    def unshape(self, name: str) -> None:
        self._ask("tc", "del", index=index_of(name), root=True)

    def take_turns(self, name: str, bucket: Bucket, senders: int, bundle_bytes: int) -> None:
        """Gives each sender a queue of its own, below the bucket."""
        # A new class takes its queue length, in bundles, from the device. It is short, so that a sender which
        # gets a share of the link notices soon, not after a megabyte.
        room = bucket.limit_bytes // bulk.QUEUES_IN_ONE // bundle_bytes
        self.change(name, txqlen=max(_LEAST_BUNDLES, room))
        bulk.send(bulk.in_turn(index_of(name), senders, bundle_bytes, bucket.limit_bytes))

    def add_hooks(self, name: str) -> None:
        """Adds the hooks that redirections at this device need."""
        self._ask("tc", "add", "clsact", index_of(name))

    def remove_hooks(self, name: str) -> None:
        """Also removes all redirections of this device."""
        self._ask("tc", "del", "clsact", index_of(name))

    def redirect(self, name: str, *, entering: bool, medium: str) -> None:
        """Sends frames that enter (or leave by) a device through the medium first."""
        action = {"kind": "mirred", "direction": "egress", "action": "redirect", "ifindex": index_of(medium)}
        self._ask(
            "tc", "add-filter", "u32", index_of(name), parent=_INGRESS if entering else _EGRESS,
            protocol=_ALL_PROTOCOLS, prio=_PRIORITY, keys=_EVERYTHING, target=_CLASS, action=action,
        )  # fmt: skip


def index_of(name: str) -> int:
    """Index of a device in this process's network namespace. Raises CrosscutError if there is none."""
    try:
        return socket.if_nametoindex(name)
    except OSError as error:
        raise CrosscutError(f"there is no device {name}; crosscut lab down, and up again") from error


def gather_received(name: str) -> None:
    """Enables GRO, as adapters' drivers do: receivers merge segments, and send fewer acknowledgements."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        import ctypes

        value = ctypes.create_string_buffer(struct.pack("=II", _ETHTOOL_SET_GRO, 1))
        request = struct.pack("16sP", name.encode(), ctypes.addressof(value))
        fcntl.ioctl(any_socket, _SIOCETHTOOL, request)
