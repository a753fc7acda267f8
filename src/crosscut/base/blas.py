"""Loads numpy so that its matrix routines use one thread."""

from __future__ import annotations

import os

_VARIABLE = "OPENBLAS_NUM_THREADS"


def load_with_one_thread() -> None:
    """Imports numpy with one thread for OpenBLAS, unless the user's environment names a number.

    Its other threads spin while they wait: they take processors from ranks that measure on this machine, and
    make small matrices slower. The environment stays as it was, so programs that crosscut starts see no
    difference. Does nothing if numpy is loaded already.
    """
    given = os.environ.get(_VARIABLE)
    os.environ[_VARIABLE] = given or "1"
    try:
        import numpy  # noqa: F401
    finally:
        if given is None:
            del os.environ[_VARIABLE]
        else:
            os.environ[_VARIABLE] = given
