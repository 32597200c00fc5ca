"""Stored replies: what is paid for is not paid for twice."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any, Protocol

import orjson

from tracescore.judge.protocol import JudgeReply, JudgeRequest
from tracescore.model import RawReply


class ReplyStore(Protocol):
    """The replies of one job, by step and hash of what was asked."""

    async def get(self, step: str, prompt_hash: str, /) -> str | None:
        """Give the stored reply, or None."""
        ...

    async def put(self, step: str, prompt_hash: str, reply: str, /) -> None:
        """Keep a reply as it arrived."""
        ...


class MemoryReplies:
    """Replies in a dict: the in-memory twin of the store's."""

    def __init__(self, replies: Mapping[tuple[str, str], str] | None = None) -> None:
        self.replies = dict(replies or {})

    async def get(self, step: str, prompt_hash: str, /) -> str | None:
        """Give the stored reply, or None."""
        return self.replies.get((step, prompt_hash))

    async def put(self, step: str, prompt_hash: str, reply: str, /) -> None:
        """Keep a reply as it arrived."""
        self.replies[step, prompt_hash] = reply


def prompt_hash(request: JudgeRequest, *, model: str) -> str:
    """Hash what is asked and of whom: the same question of another model is another question.

    The messages are those that leave: after the input processors and the redactor, and with the schema in them where
    the judge wants it there.
    """
    asked: dict[str, Any] = {
        "model": model,
        "messages": list(request.messages),
        "schema": request.schema,
        "sampling": dict(request.sampling),
    }
    if not request.native_schema:
        asked["native_schema"] = False
    return hashlib.sha256(orjson.dumps(asked, option=orjson.OPT_SORT_KEYS)).hexdigest()[:32]


def raw_reply(reply: JudgeReply, *, problem: str | None = None) -> RawReply:
    """Give a reply as evidence keeps it."""
    return RawReply(**_fields(reply), problem=problem)


def reply_of(raw: RawReply) -> JudgeReply:
    """Give a reply back from the evidence, to be read again."""
    known = _fields(raw)
    del known["problem"]
    return JudgeReply(**known)


def dump_reply(reply: JudgeReply) -> str:
    """Give a reply's stored form."""
    return orjson.dumps(asdict(reply)).decode()


def load_reply(stored: str) -> JudgeReply:
    """Read a reply back from ``dump_reply``."""
    return JudgeReply(**orjson.loads(stored))


def _fields(reply: JudgeReply | RawReply) -> dict[str, Any]:
    return {known.name: getattr(reply, known.name) for known in fields(reply)}
