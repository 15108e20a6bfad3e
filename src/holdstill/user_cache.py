"""Where the system keeps what programs can make again."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def folder() -> Path:
    """The user's folder of caches, as the system's conventions and the environment have it; it need not be there."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    given = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return given if given.is_absolute() else Path.home() / ".cache"  # the specification ignores relative paths
