"""Variables of the environment that tune how libraries send messages, for runs to record."""

from __future__ import annotations

import os

# MPICH, Open MPI, Intel MPI, MVAPICH, UCX and libfabric.
_PREFIXES = ("MPIR_CVAR_", "MPICH_", "OMPI_MCA_", "I_MPI_", "MV2_", "UCX_", "FI_")


def tuning_variables() -> dict[str, str]:
    """Returns them by name. Bytes that are no UTF-8 are written as escapes."""
    return {
        _plain(name): _plain(value)
        for name, value in sorted(os.environ.items())
        if name.startswith(_PREFIXES)
    }


def _plain(text: str) -> str:
    return os.fsencode(text).decode("utf-8", "backslashreplace")
