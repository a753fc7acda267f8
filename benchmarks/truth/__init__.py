"""Networks with known truth, made from seeds: how often `crosscut locate` finds what is there."""

import os

# Before numpy: its small matrices take many times as long where BLAS shares them out among threads.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
