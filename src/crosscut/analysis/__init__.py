"""Analysis: pure functions from measured arrays to figures."""

from crosscut.base import blas

blas.load_with_one_thread()
