"""Where the receiver listens."""

from __future__ import annotations

import socket

from tracescore.settings import Settings


def endpoint(settings: Settings) -> str:
    """Give the base URL that an exporter is pointed at."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{settings.port}"


def free_port(host: str) -> int:
    """Find a port that nobody listens on."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])
