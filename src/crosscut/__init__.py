"""crosscut measures the interconnect of a cluster with dense communication patterns."""

from __future__ import annotations


def __getattr__(name: str) -> str:
    """Looks up `__version__` on demand, because importlib.metadata takes long to import."""
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import metadata

    try:
        return metadata.version("crosscut")
    except metadata.PackageNotFoundError:  # run from a source tree that was never installed
        return "0+source"
