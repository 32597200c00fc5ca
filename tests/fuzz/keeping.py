"""Where what broke something is kept."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

CRASHES = Path(__file__).parent / "crashes"


def keep(target: str, data: bytes, suffix: str) -> None:
    """Write what broke a check of a target where the tests replay it, and say so."""
    path = CRASHES / target / f"crash-{sha256(data).hexdigest()[:16]}{suffix}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    print(f"kept as {path}; python -m pytest tests/fuzz replays it")
