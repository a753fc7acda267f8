"""crosscut measures the interconnect of a cluster with dense communication patterns."""

from __future__ import annotations

from importlib import metadata

try:
    __version__ = metadata.version("crosscut")
except metadata.PackageNotFoundError:  # run from a source tree that was never installed
    __version__ = "0+source"
