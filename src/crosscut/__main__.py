"""Makes `python -m crosscut` run `crosscut`."""

from __future__ import annotations

import sys

from crosscut.cli import main

if __name__ == "__main__":
    sys.exit(main())
