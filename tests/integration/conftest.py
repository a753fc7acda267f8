"""Makes the helpers of this folder importable: pytest's import mode `importlib` leaves sys.path alone."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
