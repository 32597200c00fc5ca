"""Where the broker of a store's folder listens: written by whoever starts one, found by whoever shares the folder."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

BROKER_FILE = "broker.json"


def announce_broker(folder: Path, url: str, *, pid: int) -> None:
    """Write where the broker listens, whole or not at all."""
    partial = folder / f"{BROKER_FILE}.{os.getpid()}"
    partial.write_text(json.dumps({"url": url, "pid": pid}), encoding="utf-8")
    partial.replace(folder / BROKER_FILE)


def withdraw_broker(folder: Path) -> None:
    """Say that there is no broker any more."""
    (folder / BROKER_FILE).unlink(missing_ok=True)


def announced_broker(folder: Path) -> str | None:
    """Give the URL of the folder's broker, where one was announced and its socket is being listened to."""
    url = announced_url(folder)
    return url if url is not None and is_listening(socket_path(url)) else None


def announced_url(folder: Path) -> str | None:
    """Give the URL that was announced last, whether or not anybody listens."""
    try:
        url = json.loads((folder / BROKER_FILE).read_text(encoding="utf-8"))["url"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return url if isinstance(url, str) else None


def socket_path(url: str) -> Path:
    """Give the socket of a ``redis+socket://`` URL."""
    return Path(url.partition("://")[2])


def is_listening(path: Path) -> bool:
    """Tell whether someone accepts connections on a Unix socket."""
    if not hasattr(socket, "AF_UNIX"):
        return False
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(1.0)
        try:
            connection.connect(str(path))
        except OSError:
            return False
    return True


def broker_of(broker: str, store: str) -> str:
    """Give the broker to use: a URL as it is; for ``embedded`` the one of the store's folder, ``none`` without one."""
    if broker != "embedded":
        return broker or "none"
    return announced_broker(Path(store)) or "none"
