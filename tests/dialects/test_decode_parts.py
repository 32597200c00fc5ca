"""Content blocks that only some providers and libraries write."""

from __future__ import annotations

from typing import Any

from tracescore.dialects.decode_message import said_of
from tracescore.model import MediaPart, ReasoningPart, TextPart, ToolInvocationPart


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


def test_a_providers_own_tools_show_what_they_were_asked_and_gave() -> None:
    items: list[dict[str, Any]] = [
        {"type": "web_search_call", "id": "w", "status": "completed", "action": {"query": "paris"}},
        {"type": "file_search_call", "id": "f", "status": "completed", "queries": ["a"], "results": [{"text": "b"}]},
        {"type": "code_interpreter_call", "id": "c", "status": "failed", "code": "1/0", "outputs": None},
        {"type": "mcp_list_tools", "id": "l", "tools": []},
        {"type": "mcp_call", "id": "m", "name": "book", "arguments": '{"room": 7}', "output": None, "error": "no"},
        {"type": "shell_call", "call_id": "s", "status": "completed", "action": {"commands": ["ls"]}},
    ]
    said = [message for item in items for message in said_of(item, "assistant")]

    assert [(call.id, call.name, call.arguments) for message in said for call in message.calls] == [
        ("w", "web_search", {"query": "paris"}),
        ("f", "file_search", {"queries": ["a"]}),
        ("c", "code_interpreter", {"code": "1/0"}),
        ("m", "book", {"room": 7}),
        ("s", "shell", {"commands": ["ls"]}),
    ]
    assert [(one.id, one.value, one.failed) for message in said for one in message.results] == [
        ("w", None, False),
        ("f", "b", False),
        ("c", None, True),
        ("m", "no", True),
    ]


def test_parts_listed_by_their_kind_come_as_they_were_said() -> None:
    text, call = {"type": "text", "content": "Let me look."}, {"type": "tool_call", "id": "c", "name": "look"}
    listing = {"type": "server_tool_call", "server_tool_call": {"type": "mcp_list_tools", "tools": []}}
    search = {"type": "server_tool_call", "id": "w", "name": "search", "server_tool_call": {"query": "a", "results": 1}}
    ran = ToolInvocationPart(id="w", name="search", arguments={"query": "a"}, result=1)
    told = TextPart(text="Let me look.")

    def parts(*blocks: dict[str, Any], finish: str) -> tuple[object, ...]:
        return said_of({"role": "assistant", "parts": [*blocks], "finish_reason": finish}, "assistant")[0].parts

    assert parts(call, text, finish="tool_calls") == (told, ToolInvocationPart(id="c", name="look"))
    assert parts(listing, search, text, finish="stop") == (ran, told)
    assert parts(text, {"type": "reasoning", "content": "hm"}, finish="stop") == (ReasoningPart(text="hm"), told)


def test_a_spoken_answer_is_what_was_said_and_the_sound() -> None:
    sound = {"id": "a1", "data": "UklGRg==", "transcript": "Yes."}

    assert said_of({"role": "assistant", "content": None, "audio": sound}, "assistant")[0].parts == (
        TextPart(text="Yes."),
        MediaPart(type="audio", url="data:;base64,UklGRg==", file_id="a1"),
    )


def test_blocks_that_a_library_gives_as_the_text_of_others_are_read() -> None:
    blocks = [
        {"type": "text", "content": '{"id": "r", "summary": [{"text": "hm"}], "type": "reasoning"}'},
        {"type": "text", "content": '{"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"}'},
        {"type": "tool_call", "id": "c", "name": "look", "arguments": {}},
        {"type": "text", "content": '{"type": "audio", "source_type": "base64", "mime_type": "a/b", "data": "Ug=="}'},
        {"type": "text", "content": '{"type": "file", "summary": "what a user wrote"}'},
    ]

    assert said_of({"role": "assistant", "parts": blocks, "finish_reason": "stop"}, "assistant")[0].parts == (
        ReasoningPart(text="hm"),
        ToolInvocationPart(id="c", name="look", arguments={}),
        MediaPart(type="audio", media_type="a/b", url="data:a/b;base64,Ug=="),
        TextPart(text='{"type": "file", "summary": "what a user wrote"}'),
    )


def test_code_that_gemini_ran_and_results_of_other_providers_tools_are_calls() -> None:
    def results(*blocks: dict[str, Any]) -> list[tuple[object, bool]]:
        (said,) = said_of({"role": "model", "parts": [*blocks]}, "assistant")
        return [*((call.arguments, False) for call in said.calls), *((one.value, one.failed) for one in said.results)]

    ran = {"executableCode": {"language": "PYTHON", "code": "1"}}, {"codeExecutionResult": {"output": "1"}}
    answered = {"type": "server_tool_call_response", "id": "m"}
    failed = {"content": [{"text": "closed"}], "is_error": True, "type": "mcp_tool_result"}

    assert results(*ran) == [({"code": "1"}, False), ("1", False)]
    assert results({**answered, "server_tool_call_response": failed}) == [("closed", True)]


def test_a_status_or_a_type_of_any_form_breaks_nothing() -> None:
    items: list[dict[str, Any]] = [
        {"type": "web_search_call", "id": "w", "status": ["completed"], "action": [1]},
        {"type": "text", "text": '{"type": ["reasoning"], "summary": {}, "call_id": []}'},
        {"type": "server_tool_call", "server_tool_call": {"type": {}, "output": [[]], "error": [{}]}},
        {"type": "server_tool_call_response", "server_tool_call_response": {"outcome": [], "content": {}}},
        {"role": "assistant", "content": None, "audio": {"transcript": [], "id": {}, "data": 1}},
    ]

    assert [said.role for item in items for said in said_of(item, "assistant")] == ["assistant"] * 5
