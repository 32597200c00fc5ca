"""Content blocks that only some providers and libraries write."""

from __future__ import annotations

from typing import Any

from tracescore.dialects.decode_message import said_of
from tracescore.model import MediaPart, ReasoningPart, TextPart


def test_blocks_that_few_spell_so_are_read_and_marks_are_nothing_said() -> None:
    blocks: list[dict[str, Any]] = [
        {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s"}}},
        {"guardContent": {"text": {"text": "blue"}}},
        {"citationsContent": {"content": [{"text": "as seen"}], "citations": []}},
        {"type": "reasoningContent", "content": {"reasoningText": {"text": "now"}}},
        {"type": "image-url", "url": "https://a.b/c.png"},
        {"image": {"format": "png", "source": {"bytes": "<replaced>"}}},
        {"type": "text", "content": '{"reasoningContent": {"reasoningText": {"text": "so"}}}'},
        {"type": "reasoning", "content": '[{"type": "summary_text", "text": "then"}]'},
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "a b"}},
        {"cachePoint": {"type": "default"}},
    ]

    assert said_of({"role": "assistant", "content": blocks}, "assistant")[0].parts == (
        ReasoningPart(text="hm"),
        TextPart(text="blue"),
        TextPart(text="as seen"),
        ReasoningPart(text="now"),
        MediaPart(type="image", url="https://a.b/c.png"),
        MediaPart(type="image", media_type="image/png"),
        ReasoningPart(text="so"),
        ReasoningPart(text="then"),
        MediaPart(type="file", media_type="text/plain", url="data:text/plain,a%20b"),
    )
