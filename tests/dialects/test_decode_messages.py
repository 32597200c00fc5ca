"""Messages of every shape, in one form."""

from __future__ import annotations

from typing import Any

import pytest

from tracescore.dialects import Content, Said
from tracescore.model import MediaPart, Part, ReasoningPart, TextPart, ToolInvocationPart

CALL = ToolInvocationPart(id="c1", name="look", arguments={"at": "sky"})


def decoded(value: Any, role: Any = "user") -> list[Said]:
    return list(Content(value, role=role).said())


def told(part: Part) -> str:
    if isinstance(part, ToolInvocationPart):
        return f"{part.name}({part.arguments})"
    return part.text if isinstance(part, TextPart | ReasoningPart) else str(part)


def lines(value: Any, role: Any = "user") -> list[str]:
    """Give messages as short lines: role, parts, results."""
    found: list[str] = []
    for said in decoded(value, role):
        parts = [
            f"{part.name}({part.arguments})"
            if isinstance(part, ToolInvocationPart)
            else str(getattr(part, "text", part))
            for part in said.parts
        ]
        results = [f"{result.id}={result.value}" for result in said.results]
        found.append(f"{said.role}: {', '.join(parts + results)}")
    return found


EXPECTED = ["system: be brief", "user: hi", "assistant: look({'at': 'sky'})", "tool: c1=blue", "assistant: fine"]

SKY = {"at": "sky"}
OPENAI = [
    {"role": "developer", "content": "be brief"},
    {"role": "user", "content": [{"type": "text", "text": "hi"}]},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at": "sky"}'}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "blue"},
    {"role": "assistant", "content": "fine"},
]
RESPONSES = {
    "instructions": "be brief",
    "input": [
        {"role": "user", "content": [{"type": "input_text", "text": "hi"}]},
        {"type": "function_call", "call_id": "c1", "id": "fc_1", "name": "look", "arguments": '{"at": "sky"}'},
        {"type": "function_call_output", "call_id": "c1", "output": "blue"},
        {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": "fine"}]},
    ],
}
GENAI = [
    {"role": "system", "parts": [{"type": "text", "content": "be brief"}]},
    {"role": "user", "parts": [{"type": "text", "content": "hi"}]},
    {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "look", "arguments": '{"at": "sky"}'}]},
    {"role": "user", "parts": [{"type": "tool_call_response", "id": "c1", "response": "blue"}]},
    {"role": "assistant", "parts": [{"type": "text", "content": "fine"}]},
]
ANTHROPIC = {
    "system": [{"type": "text", "text": "be brief"}],
    "messages": [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "look", "input": {"at": "sky"}}]},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "blue"}]}],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "fine"}]},
    ],
}
BEDROCK = {
    "system": [{"text": "be brief"}],
    "messages": [
        {"role": "user", "content": [{"text": "hi"}]},
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c1", "name": "look", "input": {"at": "sky"}}}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": [{"text": "blue"}]}}]},
        {"role": "assistant", "content": [{"text": "fine"}]},
    ],
}
GEMINI = {
    "config": {"system_instruction": "be brief"},
    "contents": [
        {"role": "user", "parts": [{"text": "hi"}]},
        {"role": "model", "parts": [{"function_call": {"id": "c1", "name": "look", "args": {"at": "sky"}}}]},
        {"role": "user", "parts": [{"functionResponse": {"id": "c1", "name": "look", "response": {"result": "blue"}}}]},
        {"role": "model", "parts": [{"text": "fine"}]},
    ],
}
CONSTRUCTORS = {
    "messages": [
        [
            {"lc": 1, "type": "constructor", "id": ["x", "SystemMessage"], "kwargs": {"content": "be brief"}},
            {"lc": 1, "type": "constructor", "id": ["x", "HumanMessage"], "kwargs": {"content": "hi", "type": "human"}},
            {
                "lc": 1,
                "type": "constructor",
                "id": ["x", "AIMessage"],
                "kwargs": {"content": "", "tool_calls": [{"name": "look", "args": {"at": "sky"}, "id": "c1"}]},
            },
            {
                "lc": 1,
                "type": "constructor",
                "id": ["x", "ToolMessage"],
                "kwargs": {"content": "blue", "tool_call_id": "c1", "id": "other"},
            },
            {"lc": 1, "type": "constructor", "id": ["x", "AIMessageChunk"], "kwargs": {"content": "fine"}},
        ]
    ]
}
DUMPS = {
    "inputs": {
        "messages": [
            {"type": "system", "content": "be brief"},
            {"type": "human", "data": {"content": "hi", "type": "human"}},
            {
                "type": "ai",
                "data": {"content": "", "tool_calls": [{"name": "look", "args": {"at": "sky"}, "id": "c1"}]},
            },
            {"type": "tool", "data": {"content": "blue", "tool_call_id": "c1"}},
            {"type": "ai", "content": "fine"},
        ]
    }
}
AI_SDK = {
    "system": "be brief",
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "hi"}]},
        {
            "role": "assistant",
            "content": [{"type": "tool-call", "toolCallId": "c1", "toolName": "look", "args": {"at": "sky"}}],
        },
        {
            "role": "tool",
            "content": [
                {
                    "type": "tool-result",
                    "toolCallId": "c1",
                    "toolName": "look",
                    "output": {"type": "text", "value": "blue"},
                }
            ],
        },
        {"role": "assistant", "content": "fine"},
    ],
}
GENKIT = {
    "messages": [
        {"role": "system", "content": [{"text": "be brief"}]},
        {"role": "user", "content": [{"text": "hi"}]},
        {"role": "model", "content": [{"toolRequest": {"ref": "c1", "name": "look", "input": {"at": "sky"}}}]},
        {"role": "tool", "content": [{"toolResponse": {"ref": "c1", "name": "look", "output": "blue"}}]},
        {"role": "model", "content": [{"text": "fine"}]},
    ]
}
HAYSTACK = {
    "messages": [
        {"role": "system", "content": [{"text": "be brief"}]},
        {"role": "user", "content": [{"text": "hi"}]},
        {
            "role": "assistant",
            "content": [{"tool_call": {"id": "c1", "tool_name": "look", "arguments": {"at": "sky"}}}],
        },
        {
            "role": "tool",
            "content": [{"tool_call_result": {"result": "blue", "origin": {"id": "c1", "tool_name": "look"}}}],
        },
        {"role": "assistant", "content": [{"text": "fine"}]},
    ]
}
SHAPES = {
    "openai": OPENAI,
    "responses": RESPONSES,
    "genai": GENAI,
    "anthropic": ANTHROPIC,
    "bedrock": BEDROCK,
    "gemini": GEMINI,
    "langchain constructors": CONSTRUCTORS,
    "langchain dumps": DUMPS,
    "ai sdk": AI_SDK,
    "genkit": GENKIT,
    "haystack": HAYSTACK,
}


@pytest.mark.parametrize("name", SHAPES)
def test_every_shape_of_one_conversation_is_the_same_conversation(name: str) -> None:
    assert lines(SHAPES[name]) == EXPECTED


TEXT_ITEM = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "fine"}]}


@pytest.mark.parametrize(
    "output",
    [
        {"choices": [{"index": 0, "message": {"role": "assistant", "content": "fine"}}]},
        {"generations": [[{"text": "fine", "message": {"lc": 1, "id": ["AIMessage"], "kwargs": {"content": "fine"}}}]]},
        {"candidates": [{"content": {"role": "model", "parts": [{"text": "fine"}]}}]},
        {"message": {"role": "assistant", "blocks": [{"block_type": "text", "text": "fine"}]}},
        {"id": "m", "role": "assistant", "content": [{"type": "text", "text": "fine"}]},
        {"output": [TEXT_ITEM]},
        {"text": "fine", "toolCalls": [], "files": []},
        "fine",
    ],
)
def test_every_shape_of_an_answer_is_the_same_answer(output: Any) -> None:
    assert lines(output, "assistant") == ["assistant: fine"]


def test_items_of_one_turn_are_one_message() -> None:
    items = [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]},
        {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": "let me see"}]},
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"at": "sky"}'},
    ]

    (said,) = decoded(items, "assistant")

    assert said.parts == (ReasoningPart(text="hm"), TextPart(text="let me see"), CALL)


def test_a_call_written_as_block_and_as_call_is_one() -> None:
    message = {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "c1", "name": "look", "input": {"at": "sky"}}],
        "tool_calls": [{"id": "c1", "name": "look", "args": {"at": "sky"}}],
    }

    assert decoded([message])[0].parts == (CALL,)


def test_what_a_user_says_beside_tool_results_is_a_message_of_its_own() -> None:
    content = [{"type": "tool_result", "tool_use_id": "c1", "content": "blue"}, {"type": "text", "text": "and now?"}]

    assert lines([{"role": "user", "content": content}]) == ["tool: c1=blue", "user: and now?"]


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAA="}},
        {"type": "input_image", "image_url": "data:image/png;base64,AAA="},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAA="}},
        {"type": "blob", "mime_type": "image/png", "modality": "image", "content": "AAA="},
        {"inline_data": {"mime_type": "image/png", "data": "AAA="}},
        {"type": "image", "image": "AAA=", "mimeType": "image/png"},
    ],
)
def test_an_image_of_any_provider_is_the_same_part(block: dict[str, Any]) -> None:
    image = MediaPart(type="image", media_type="image/png", url="data:image/png;base64,AAA=")

    assert decoded([{"role": "user", "content": [block]}])[0].parts == (image,)


def test_arguments_that_are_no_object_stay_as_they_are() -> None:
    def arguments(value: Any) -> Any:
        said = decoded([{"role": "assistant", "tool_calls": [{"name": "look", "args": value, "id": "c1"}]}])[0]
        return said.calls[0].arguments

    assert [arguments(value) for value in ('{"a": 1}', "[1]", "sky", {"a": 1}, None)] == [
        {"a": 1},
        "[1]",
        "sky",
        {"a": 1},
        None,
    ]


def test_a_failed_result_is_marked() -> None:
    content = [{"type": "tool_result", "tool_use_id": "c1", "is_error": True, "content": "dark"}]

    (result,) = decoded([{"role": "user", "content": content}])[0].results

    assert (result.failed, result.value) == (True, "dark")


def test_parts_without_content_are_elided_and_not_empty_text() -> None:
    (said,) = decoded([{"role": "assistant", "parts": [{"type": "text"}, {"type": "text", "content": "<elided>"}]}])

    assert (said.parts, said.elided, said.captured) == ((), True, False)


def test_a_refusal_is_what_was_answered() -> None:
    assert lines([{"role": "assistant", "content": None, "refusal": "I will not"}]) == ["assistant: I will not"]


def test_what_a_providers_own_tool_was_asked_and_gave_is_kept() -> None:
    asked = {"type": "server_tool_call", "id": "s", "name": "find", "server_tool_call": {"type": "find", "query": "x"}}
    gave = {"type": "server_tool_call_response", "id": "s", "server_tool_call_response": {"type": "find", "n": 1}}

    (said,) = decoded([{"role": "assistant", "parts": [asked, gave]}])

    assert said.calls == (ToolInvocationPart(id="s", name="find", arguments={"query": "x"}),)
    assert [result.value for result in said.results] == [{"type": "find", "n": 1}]


def test_a_call_of_free_text_keeps_its_name_and_text() -> None:
    call = {"id": "c", "type": "custom", "custom": {"name": "run", "input": "1 + 1"}}

    assert lines([{"role": "assistant", "tool_calls": [call]}]) == ["assistant: run(1 + 1)"]


def test_json_that_a_user_wrote_stays_text() -> None:
    assert lines([{"role": "user", "content": '[{"text": "a"}, {"text": "b"}]'}]) == [
        'user: [{"text": "a"}, {"text": "b"}]'
    ]


def test_a_value_that_is_no_conversation_is_a_value() -> None:
    content = Content({"city": "Paris"}, role="user")

    assert (content.kind, content.value) == ("value", {"city": "Paris"})


def test_only_what_a_call_adds_is_read_again() -> None:
    earlier = Content('[{"role":"user","parts":[{"type":"text","content":"a"}]}]', role="user")
    later = Content(
        '[{"role":"user","parts":[{"type":"text","content":"a"}]},{"role":"assistant","parts":[{"type":"text","content":"b"}]}]',
        role="user",
    )

    added = later.after(earlier)

    assert added is not None
    assert [said.text for said in added] == ["b"]
    assert earlier.after(later) is None
    assert later.after(later) == ()


@pytest.mark.parametrize(
    "texts",
    [
        [
            "ChatMessage(_role=<ChatRole.USER: 'user'>, _content=[TextContent(text=\"it's me\")], _name=None)",
            "ChatMessage(_role=<ChatRole.ASSISTANT: 'assistant'>, _content=[ToolCall(tool_name='look', "
            "arguments={'at': 'sky'}, id='c1')], _name=None, _meta={'n': 1.5, 'l': [1, (2,)]})",
            "ChatMessage(_role=<ChatRole.TOOL: 'tool'>, _content=[ToolCallResult(result='blue', "
            "origin=ToolCall(tool_name='look', arguments={'at': 'sky'}, id='c1'), error=False)])",
        ],
        [
            "ChatMessage(role=<MessageRole.USER: 'user'>, blocks=[TextBlock(block_type='text', text='it\\'s me')])",
            "ChatMessage(role=<MessageRole.ASSISTANT: 'assistant'>, additional_kwargs={'tool_calls': [Call(id='c1', "
            "function=Function(arguments='{\"at\": \"sky\"}', name='look'), type='function')]}, blocks=[])",
            "ChatMessage(role=<MessageRole.TOOL: 'tool'>, additional_kwargs={'tool_call_id': 'c1'}, "
            "tool_call_id='c1', blocks=[TextBlock(block_type='text', text='blue')])",
        ],
    ],
)
def test_the_text_of_python_objects_is_read(texts: list[str]) -> None:
    assert lines({"messages": texts}) == ["user: it's me", "assistant: look({'at': 'sky'})", "tool: c1=blue"]


def test_marks_on_the_last_message_do_not_hide_that_a_history_goes_on() -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    first = [{"role": "user", "content": [{"type": "text", "text": "hi", **mark}]}]
    second = [{"role": "user", "content": [{"type": "text", "text": "hi"}]}, {"role": "assistant", "content": "hello"}]

    added = Content(second, role="user").after(Content(first, role="user"))

    assert added is not None
    assert [said.text for said in added] == ["hello"]
    assert Content(first, role="user").after(Content(second, role="user")) is None


def test_text_that_only_looks_like_objects_is_no_conversation() -> None:
    for texts in (["hello", "there"], ["print(x)"], ["ChatMessage(role="], ["A(" * 10_000], ["__import__('os')"]):
        assert Content({"messages": texts}, role="user").kind == "value"


def test_calls_that_a_client_ran_by_itself_are_answers_of_their_own() -> None:
    response = {
        "candidates": [{"content": {"role": "model", "parts": [{"text": "fine"}]}}],
        "automatic_function_calling_history": [
            {"role": "user", "parts": [{"text": "hi"}]},
            {"role": "model", "parts": [{"function_call": {"name": "look", "args": {"at": "sky"}}}]},
            {"role": "user", "parts": [{"function_response": {"name": "look", "response": {"result": "blue"}}}]},
        ],
    }

    assert lines(response, "assistant")[1:] == ["assistant: look({'at': 'sky'})", "tool: None=blue", "assistant: fine"]
