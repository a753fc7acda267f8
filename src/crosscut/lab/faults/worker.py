"""The process that keeps up a fault: `python -m crosscut.lab.faults.worker LAB FAULT`, in the lab.

It is killed when the fault is lifted; whoever kills it restores the settings that it changed.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress

from crosscut.lab import lifecycle, state
from crosscut.lab.faults.catalogue import from_json, kind_of


def main() -> None:
    name, text = sys.argv[1:]
    fault = from_json(json.loads(text))
    work = kind_of(fault.kind).work(lifecycle.plan_of(state.read(name)), state.folder(name), fault)
    print("planted", flush=True)
    sys.stdout.close()
    with suppress(OSError):
        sys.stderr.close()
    work()


if __name__ == "__main__":
    main()
