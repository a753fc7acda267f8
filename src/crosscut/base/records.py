"""Records to JSON and back, by the types of their members, with msgspec (docs/adr/0011-json-records.md)."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T")
_LEAVES = frozenset({int, str, bool, tuple})
"""These are known and hold no nulls (our tuples hold none). Most lists are long ones of integers."""


def parse(value: object, kind: type[T]) -> T:
    """Makes a record from decoded JSON. Raises ValueError that names the wrong member.

    A member that is null, NaN or infinite counts as absent and takes its default; such an item of a list
    becomes NaN. Members that the record does not have are ignored.
    """
    import msgspec

    try:
        return msgspec.convert(_known(value), kind)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def plain(record: DataclassInstance) -> dict[str, Any]:
    """Returns a record as JSON's types, with None in place of NaN and infinity."""
    import msgspec

    # asdict, because msgspec would omit members that `parse` took from a default.
    text = msgspec.json.encode(asdict(record), enc_hook=lambda number: number.item())  # NumPy scalars
    found: dict[str, Any] = msgspec.json.decode(text)
    return found


def finite(value: float) -> float | None:
    """Returns the number, or None for NaN and infinity, which JSON does not have."""
    return value if math.isfinite(value) else None


def _known(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: member if type(member) in _LEAVES else _known(member)
            for key, member in value.items()
            if type(member) in _LEAVES or _is_known(member)
        }
    if isinstance(value, list) and not _LEAVES.issuperset(map(type, value)):
        return [_known(item) if _is_known(item) else math.nan for item in value]
    return value


def _is_known(value: object) -> bool:
    return value is not None and (not isinstance(value, float) or math.isfinite(value))
