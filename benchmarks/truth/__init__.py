"""Scores `crosscut locate` on generated networks whose structure and faults are known."""

import os

# Before numpy: on its small matrices a multi-threaded BLAS takes many times as long.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
