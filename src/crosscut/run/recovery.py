"""Restores the group metadata of a run that lost its root zarr.json, from the metadata of its arrays.

The arrays say all about shapes and chunks. What only the root said is lost: the pattern, the job, the hosts.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from crosscut.run.format import ARRAYS, SCHEMA_NAME, SCHEMA_VERSION, DamagedRun, load_json, store_json

LOST = "pattern, job and hosts are lost"


def has_lost_root(path: Path) -> bool:
    """True for a folder with arrays of a run but without the zarr.json that makes it one."""
    return not (path / "zarr.json").exists() and any((path / name / "zarr.json").is_file() for name in ARRAYS)


def rebuilt(path: Path) -> Mapping[str, object]:
    """The root's document, of what the arrays say; raises Damaged where one of them cannot be read."""
    arrays = {
        name: load_json(path / name / "zarr.json") for name in ARRAYS if (path / name / "zarr.json").is_file()
    }
    version = SCHEMA_VERSION if "phase_status" in arrays else 1
    attributes = {
        "schema": {"name": SCHEMA_NAME, "version": version},
        "state": "recovered",
        "peers": "stored" if "peer" in arrays else "implied",
        "recovered": f"zarr.json was lost and is rebuilt from the arrays; {LOST}",
    }
    named = " ".join(name for name in ("peer", "bytes", "node") if name in arrays)
    return {
        "zarr_format": 3,
        "node_type": "group",
        "attributes": attributes | ({"coordinates": named} if named else {}),
        "consolidated_metadata": {"kind": "inline", "must_understand": False, "metadata": arrays},
    }


def restore(path: Path) -> list[str]:
    """Writes the root's zarr.json; what was done, a line each. Raises Damaged, OSError."""
    store_json(path / "zarr.json", rebuilt(path))
    return [f"wrote {path / 'zarr.json'} from the arrays' own metadata; {LOST}"]


def why_not(path: Path) -> str:
    """Why the root cannot be rebuilt; empty: it can."""
    try:
        rebuilt(path)
    except DamagedRun as error:
        return str(error)
    return ""
