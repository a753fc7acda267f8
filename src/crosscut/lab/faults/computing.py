"""A process that computes and counts: `python -m crosscut.lab.faults.computing FILE`, on a node of a lab.

The count is in the first eight bytes of the file, so reading it does not disturb the process, which ends when
its standard input closes.
"""

from __future__ import annotations

import mmap
import os
import struct
import sys
import threading
from pathlib import Path

COUNT = struct.Struct("=Q")
# These steps take a fraction of a millisecond, so the count is never far behind.
_STEPS_AT_ONCE = 2000


def read(file: Path) -> int:
    found: int = COUNT.unpack(file.read_bytes()[: COUNT.size])[0]
    return found


def main() -> None:
    with Path(sys.argv[1]).open("r+b") as file:
        shared = mmap.mmap(file.fileno(), COUNT.size)
    threading.Thread(target=_end_with_input, daemon=True).start()
    print("computing", flush=True)
    value, done = 1, 0
    while True:
        for _ in range(_STEPS_AT_ONCE):
            value = value * 6364136223846793005 % 18446744073709551557
        done += 1
        COUNT.pack_into(shared, 0, done)


def _end_with_input() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    main()
