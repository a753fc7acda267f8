"""A profile as one JSON object with every counter, for other programs."""

from __future__ import annotations

import numpy as np

from crosscut.profile.format import STATES, WAYS, Counts
from crosscut.profile.program import Call, Profile, ended


def as_json(profile: Profile) -> dict[str, object]:
    return {
        "folder": str(profile.folder),
        "ranks": profile.ranks,
        "complete": profile.complete,
        "ended": list(ended(profile)),
        "about": dict(profile.about),
        "decade_from_bytes": [0, *(10**digits for digits in range(profile.found[0].as_called.shape[1] - 1))],
        "calls": [_call(call) for call in profile.calls],
        "sizes": {way: _amounts(profile.sizes(way)) for way in WAYS},
        "by_rank": [
            {
                "rank": one.rank,
                "host": one.host,
                "state": STATES[one.state],
                "seconds": one.seconds,
                "sections": one.sections,
                "mpi_seconds": float(one.call_seconds.sum()),
                "sent_bytes": int(one.traffic[:, :, 1].sum()),
                "in_call": None if one.current_call is None else one.names[one.current_call],
            }
            for one in profile.found
        ],
        "traffic": _traffic(profile),
    }


def _call(call: Call) -> dict[str, object]:
    return {
        "name": call.name,
        "kind": call.kind,
        "count": call.count,
        "seconds": float(call.seconds.sum()),
        "longest_seconds": call.longest_seconds,
        "as_called": _amounts(call.as_called),
        "decomposed": _amounts(call.decomposed),
    }


def _amounts(counts: Counts) -> dict[str, list[int]]:
    """Returns messages and bytes by decade of message size."""
    return {
        "messages": [int(value) for value in counts[:, 0]],
        "bytes": [int(value) for value in counts[:, 1]],
    }


def _traffic(profile: Profile) -> list[dict[str, object]]:
    """Lists pairs that communicate. `to` is null for ranks of other worlds or beyond a rank's counters."""
    pairs: list[dict[str, object]] = []
    for one in profile.found:
        for peer, amounts in zip(one.peers, one.traffic, strict=True):
            if not np.any(amounts):
                continue
            found = {
                way: {"messages": int(amount[0]), "bytes": int(amount[1])}
                for way, amount in zip(WAYS, amounts, strict=True)
                if amount.any()
            }
            pairs.append({"from": one.rank, "to": None if peer < 0 else int(peer), **found})
    return pairs
