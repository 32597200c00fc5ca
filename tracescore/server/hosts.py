"""Which ``Host`` headers are this server's own."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from tracescore.pipeline.tenants import is_loopback
from tracescore.server.quoting import quoted


class Hosts:
    """Tell this server's names from foreign ones.

    A server on loopback answers to this machine's names and to those that it was given (a proxy's). One that listens
    beyond cannot know its names: it answers to any, until it is given some; there, tokens keep web pages out.
    """

    def __init__(self, listens_on: str, allowed: Sequence[str] = ()) -> None:
        self._any = not allowed and not is_loopback(listens_on)
        self._allowed = {_plain(name) for name in (*allowed, listens_on)}

    def refusal(self, host: str) -> str | None:
        """Give why a request with this header is not let in; None where it is."""
        name = hostname(host)
        if self._any or is_loopback(name) or _plain(name) in self._allowed:
            return None
        if len(self._allowed) > 1:
            return f"host {quoted(host)} is not this server's: TRACESCORE_ALLOWED_HOSTS names those that are"
        return f"host {quoted(host)} is not this server's: it answers on loopback only"


def hostname(host: str) -> str:
    """Give a ``Host`` header without its port."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _plain(name: str) -> str:
    return name.lower().strip("[]").removesuffix(".")
