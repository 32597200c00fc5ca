"""How many tokens a message comes to: by tiktoken where its vocabulary is at hand, else by an estimate.

Nothing is ever downloaded: a vocabulary that is not in tiktoken's cache is not at hand, and then four bytes of UTF-8
count as one token, which holds for most scripts. Each message adds 4 for its role and its frame, and an image, a file
or a piece of audio counts 765 whatever its size, as a provider's tile count comes to for a common image.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson

from tracescore.model import DataPart, ErrorPart, MediaPart, Message, Part, ReasoningPart, TextPart, ToolInvocationPart

ESTIMATE = "estimate"
FRAME = 4
MEDIA = 765
BYTES_A_TOKEN = 4
ENCODINGS = {
    "o200k_base": (
        "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken",
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    ),
    "cl100k_base": (
        "https://openaipublic.blob.core.windows.net/encodings/cl100k_base.tiktoken",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    ),
}
"""The vocabularies: their address, by which tiktoken names them in its cache, and the SHA-256 that it asks for."""
_PIECE = 4096
"""Characters that are encoded at once: some texts of a million letters cost tiktoken time beyond all bounds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenCounter:
    """Count the tokens of texts and messages; ``name`` says how: the encoding, or ``"estimate"``."""

    name: str
    count: Callable[[str], int]

    def of_part(self, part: Part) -> int:
        """Count a part's tokens."""
        match part:
            case TextPart() | ReasoningPart():
                return self.count(part.text)
            case ToolInvocationPart():
                said = (part.name, part.error, as_text(part.arguments), as_text(part.result))
                return sum(self.count(text) for text in said if text)
            case MediaPart():
                return MEDIA
            case DataPart():
                return self.count(as_text(part.data))
            case ErrorPart():
                return self.count(part.message)

    def of_message(self, message: Message) -> int:
        """Count a message's tokens."""
        return FRAME + sum(map(self.of_part, message.parts))

    def of_messages(self, messages: Iterable[object]) -> int:
        """Count the tokens of messages; what is none counts nothing."""
        return sum(self.of_message(item) for item in messages if isinstance(item, Message))


def as_text(value: Any) -> str:
    """Give a tool's arguments or result as a judge would read it."""
    if value is None or isinstance(value, str):
        return value or ""
    try:
        return orjson.dumps(value, default=repr, option=orjson.OPT_NON_STR_KEYS).decode()
    except (TypeError, ValueError, RecursionError):  # lone surrogates, integers beyond 64 bits
        return repr(value)


def estimated(text: str) -> int:
    """Estimate the tokens of a text: its bytes in UTF-8 by four, rounded up."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
    return -(-size // BYTES_A_TOKEN)


_ESTIMATE = TokenCounter(name=ESTIMATE, count=estimated)


def token_counter(encoding: str | None) -> TokenCounter:
    """Give the counter of an encoding, or the estimate where it is None or not at hand."""
    found = None if encoding is None else _at_hand(encoding, _cache_folder())
    return found or _ESTIMATE


def _cache_folder() -> str:
    """Give the folder that tiktoken itself would look in; ``""`` where its cache is turned off."""
    for name in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        if name in os.environ:
            return os.environ[name]
    return os.path.join(tempfile.gettempdir(), "data-gym-cache")


@lru_cache(maxsize=8)
def _at_hand(encoding: str, folder: str) -> TokenCounter | None:
    """Load an encoding whose vocabulary lies whole in tiktoken's cache: any other would be fetched."""
    url, digest = ENCODINGS[encoding]
    try:
        cached = Path(folder, hashlib.sha1(url.encode(), usedforsecurity=False).hexdigest()).read_bytes()
        if not folder or hashlib.sha256(cached).hexdigest() != digest:
            return None
        encode: Callable[[str], list[int]] = importlib.import_module("tiktoken").get_encoding(encoding).encode_ordinary
    except (ImportError, OSError, ValueError):
        return None

    def count(text: str) -> int:
        return sum(len(encode(text[start : start + _PIECE])) for start in range(0, len(text), _PIECE))

    return TokenCounter(name=encoding, count=count)
