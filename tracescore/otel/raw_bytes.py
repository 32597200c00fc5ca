"""Attribute values of raw bytes: some senders write their JSON so, everything else is kept as base64."""

from __future__ import annotations

from base64 import b64encode

_STARTS = (b"{", b"[")


def bytes_as_text(raw: bytes) -> str:
    """Give bytes that spell JSON as their text, any others as base64."""
    if raw.startswith(_STARTS):
        try:
            return raw.decode()
        except UnicodeDecodeError:
            pass
    return b64encode(raw).decode()
