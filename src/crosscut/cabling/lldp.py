"""Reads a host's switches and ports (IEEE 802.1AB) from `lldpctl -f json` or `lldpctl -f keyvalue`.

The output does not name the host, so the file must: `n0001.json` or `n0001`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from crosscut.base.errors import UsageError
from crosscut.cabling.model import Cabling, Port

_KEY = re.compile(
    r"lldp\.([^.=]+)\.(chassis\.name|chassis\.mac|port\.ifname|port\.local|port\.descr|port\.mac)=(.*)"
)
_PORTS = ("port.ifname", "port.local", "port.descr", "port.mac")


def parse_keyvalue(text: str, host: str) -> Cabling:
    """Parses the lines. An adapter with several neighbours keeps the first."""
    found: dict[str, dict[str, str]] = {}
    for line in text.splitlines():
        if match := _KEY.fullmatch(line.strip()):
            found.setdefault(match[1], {}).setdefault(match[2], match[3].strip())
    return Cabling(tuple(
        Port(host, adapter, switch=said.get("chassis.name") or said.get("chassis.mac", ""),
             port=next((said[key] for key in _PORTS if said.get(key)), ""))
        for adapter, said in found.items()
    ))  # fmt: skip


def parse_json(text: str, name: str, host: str) -> Cabling:
    """Parses the document. An adapter with several neighbours keeps the first. Raises UsageError if it is not
    lldpctl's."""
    try:
        value = json.loads(text)
        interfaces = value["lldp"].get("interface", {})
        ports: dict[str, Port] = {}
        for adapter, said in _interfaces(interfaces):
            ports.setdefault(adapter, _port(host, adapter, said))
        return Cabling(tuple(ports.values()))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(f"{name}: not what `lldpctl -f json` writes: {error!r}") from error


def _interfaces(found: object) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Yields each (adapter, entry): lldpctl lists objects if an adapter has several neighbours."""
    for entry in found if isinstance(found, list) else [found]:
        if not isinstance(entry, Mapping):
            raise TypeError(f"an interface is {entry!r:.40}")
        yield from entry.items()


def _port(host: str, adapter: str, said: Mapping[str, object]) -> Port:
    chassis, port = said.get("chassis", {}), said.get("port", {})
    if not isinstance(chassis, Mapping) or not isinstance(port, Mapping):
        raise TypeError(f"{adapter} has no chassis and port")
    # The chassis is an object under its name; without a name, the object itself, which has an id.
    switch = next(iter(chassis), "") if "id" not in chassis else _value(chassis["id"])
    return Port(host, adapter, switch=str(switch), port=_value(port.get("id")) or str(port.get("descr", "")))


def _value(found: object) -> str:
    return str(found.get("value", "")) if isinstance(found, Mapping) else ""
