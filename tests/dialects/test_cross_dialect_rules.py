"""What holds for every dialect: what tells a span's role, and under which names counts and sessions stand."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from tests.assembly.building import agent, brief, dumped, llm, runs, says, span
from tracescore.dialects import KNOWN_DIALECTS, SpanRole
from tracescore.model import JSONValue, RetrievedDocument, SpanEvent

TELLS: list[tuple[str, dict[SpanRole, JSONValue]]] = [
    ("langfuse.observation.type", {"tool": "tool", "llm": "generation", "agent": "agent"}),
    ("mastra.span.type", {"tool": "tool_call", "llm": "model_step", "agent": "agent_run"}),
    ("openinference.span.kind", {"tool": "TOOL", "llm": "LLM", "agent": "AGENT"}),
    ("mlflow.spanType", {"tool": '"TOOL"', "llm": '"CHAT_MODEL"', "agent": '"AGENT"'}),
    ("lmnr.span.type", {"tool": "TOOL", "llm": "LLM"}),
    ("gen_ai.operation.name", {"tool": "execute_tool", "llm": "chat", "agent": "invoke_agent"}),
    ("ai.operationId", {"tool": "ai.toolCall", "llm": "ai.generateText.doGenerate"}),
    ("traceloop.span.kind", {"tool": "tool", "agent": "agent"}),
    ("langsmith.span.kind", {"tool": "tool", "llm": "llm"}),
    ("genkit:metadata:subtype", {"tool": "tool", "llm": "model"}),
    ("gen_ai.tool.name", {"tool": "look"}),
    ("gen_ai.request.model", {"llm": "small"}),
]
"""What tells a role, first to last."""
PAIRS = [
    pytest.param({key: value, other: against}, role, id=f"{key} over {other}: {role}")
    for place, (key, values) in enumerate(TELLS)
    for other, others in TELLS[place + 1 :]
    for role, value in values.items()
    for against in [next((one for their, one in others.items() if their != role), None)]
    if against is not None
]


@pytest.mark.parametrize(("attributes", "role"), PAIRS)
def test_the_first_attribute_that_tells_a_role_wins(attributes: dict[str, JSONValue], role: SpanRole) -> None:
    assert KNOWN_DIALECTS.read(span("step", attributes=attributes), ()).role == role


@pytest.mark.parametrize(
    ("name", "role"),
    [("chat small", "llm"), ("invoke_agent bot", "agent"), ("execute_tool look", "tool"), ("look", None)],
)
def test_the_name_tells_a_role_where_nothing_else_does(name: str, role: SpanRole | None) -> None:
    assert KNOWN_DIALECTS.read(span(name), ()).role == role


def test_a_pending_span_of_logfire_is_no_call() -> None:
    pending: dict[str, JSONValue] = {
        "logfire.span_type": "pending_span",
        "logfire.msg_template": "Chat Completion with",
    }

    assert KNOWN_DIALECTS.read(span("chat", attributes={**pending, "gen_ai.request.model": "small"}), ()).role == "step"


COUNTS: list[tuple[str, dict[str, JSONValue]]] = [
    ("GenAI", {"gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 4}),
    ("GenAI until 1.26", {"gen_ai.usage.prompt_tokens": 9, "gen_ai.usage.completion_tokens": 4}),
    ("GenAI, as text", {"gen_ai.usage.input_tokens": "9", "gen_ai.usage.output_tokens": 4.0}),
    (
        "AI SDK 4",
        {"ai.operationId": "ai.generateText.doGenerate", "ai.usage.promptTokens": 9, "ai.usage.completionTokens": 4},
    ),
    (
        "AI SDK 5",
        {"ai.operationId": "ai.generateText.doGenerate", "ai.usage.inputTokens": 9, "ai.usage.outputTokens": 4},
    ),
    ("OpenInference", {"openinference.span.kind": "LLM", "llm.token_count.prompt": 9, "llm.token_count.completion": 4}),
    ("MLflow", {"mlflow.spanType": '"LLM"', "mlflow.chat.tokenUsage": '{"input_tokens": 9, "output_tokens": 4}'}),
    (
        "Langfuse",
        {
            "langfuse.observation.type": "generation",
            "langfuse.observation.usage_details": '{"prompt_tokens": 9, "completion_tokens": 4}',
        },
    ),
    (
        "Langfuse, its own names",
        {"langfuse.observation.type": "generation", "langfuse.observation.usage_details": '{"input": 9, "output": 4}'},
    ),
    (
        "Genkit",
        {"genkit:metadata:subtype": "model", "genkit:output": '{"usage": {"inputTokens": 9, "outputTokens": 4}}'},
    ),
    ("Claude Code", {"span.type": "claude_code.llm_request", "input_tokens": 9, "output_tokens": 4}),
]


@pytest.mark.parametrize("attributes", [counts for _, counts in COUNTS], ids=[name for name, _ in COUNTS])
def test_tokens_are_read_under_every_name(attributes: dict[str, JSONValue]) -> None:
    reading = KNOWN_DIALECTS.read(span("call", attributes=attributes), ())

    assert (reading.input_tokens, reading.output_tokens) == (9, 4)


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("gen_ai.usage.cache_read.input_tokens", "cache_read_tokens"),
        ("gen_ai.usage.cache_read_input_tokens", "cache_read_tokens"),
        ("gen_ai.usage.details.cache_read_tokens", "cache_read_tokens"),
        ("gen_ai.usage.details.cached_tokens", "cache_read_tokens"),
        ("ai.usage.cachedInputTokens", "cache_read_tokens"),
        ("ai.usage.inputTokenDetails.cacheReadTokens", "cache_read_tokens"),
        ("llm.token_count.prompt_details.cache_read", "cache_read_tokens"),
        ("gen_ai.usage.cache_write.input_tokens", "cache_write_tokens"),
        ("gen_ai.usage.cache_creation.input_tokens", "cache_write_tokens"),
        ("gen_ai.usage.cache_creation_input_tokens", "cache_write_tokens"),
        ("ai.usage.inputTokenDetails.cacheWriteTokens", "cache_write_tokens"),
        ("llm.token_count.prompt_details.cache_write", "cache_write_tokens"),
        ("gen_ai.usage.reasoning.output_tokens", "reasoning_tokens"),
        ("gen_ai.usage.reasoning_tokens", "reasoning_tokens"),
        ("ai.usage.reasoningTokens", "reasoning_tokens"),
        ("ai.usage.outputTokenDetails.reasoningTokens", "reasoning_tokens"),
        ("llm.token_count.completion_details.reasoning", "reasoning_tokens"),
    ],
)
def test_cached_and_reasoning_tokens_are_read_under_every_name(name: str, field: str) -> None:
    called: dict[str, JSONValue] = {"ai.operationId": "ai.generateText.doGenerate"} if name.startswith("ai.") else {}

    assert getattr(KNOWN_DIALECTS.read(span("call", attributes={**called, name: 3}), ()), field) == 3


def test_a_count_that_leaves_the_cache_out_is_made_whole() -> None:
    cached: dict[str, JSONValue] = {
        "gen_ai.usage.cache_read.input_tokens": 40,
        "gen_ai.usage.cache_creation.input_tokens": 8,
    }
    run = runs(llm("one", given=[says("user", "hi")], answer=says("assistant", "hello"), attributes=cached))["one"]

    assert (run.usage.input, run.usage.cache_read, run.usage.cache_write) == (58, 40, 8)


def test_what_a_container_sums_is_not_counted_again() -> None:
    sums: dict[str, JSONValue] = {"gen_ai.usage.input_tokens": 20, "gen_ai.usage.output_tokens": 4}
    run = runs(
        agent("bot", until=9, attributes=sums),
        llm("one", parent="bot", at=1, given=[says("user", "hi")], answer=says("assistant", "hello")),
        llm("two", parent="bot", at=3, given=[says("user", "hi")], answer=says("assistant", "hello")),
    )["bot"]

    assert (run.usage.input, run.usage.output) == (20, 4)


SESSIONS: list[str] = [
    "session.id",
    "gen_ai.conversation.id",
    "langfuse.session.id",
    "langfuse.trace.metadata.langfuse_session_id",
    "langsmith.metadata.thread_id",
    "langsmith.metadata.session_id",
    "traceloop.association.properties.thread_id",
    "traceloop.association.properties.session_id",
    "lmnr.association.properties.session_id",
    "ai.telemetry.metadata.sessionId",
    "ai.telemetry.metadata.session_id",
    "mastra.metadata.sessionId",
    "mastra.metadata.threadId",
    "gcp.vertex.agent.session_id",
    "spring.ai.chat.client.conversation.id",
    "wandb.thread_id",
    "conversation.id",
]


@pytest.mark.parametrize("name", SESSIONS)
def test_a_session_is_read_under_every_name(name: str) -> None:
    assert runs(agent("bot", attributes={name: "s-1"}))["bot"].session_id == "s-1"


@pytest.mark.parametrize(("first", "second"), list(pairwise(SESSIONS)))
def test_of_two_sessions_the_first_name_wins(first: str, second: str) -> None:
    assert runs(agent("bot", attributes={second: "s-2", first: "s-1"}))["bot"].session_id == "s-1"


def test_the_name_of_langsmiths_project_is_no_session() -> None:
    assert runs(agent("bot", attributes={"langsmith.trace.session_name": "default"}))["bot"].session_id is None


def test_a_session_in_the_metadata_or_the_resource_counts() -> None:
    metadata = runs(agent("bot", attributes={"openinference.span.kind": "AGENT", "metadata": '{"thread_id": "s-1"}'}))
    resource = runs(agent("bot", resource={"session.id": "s-2"}))

    assert (metadata["bot"].session_id, resource["bot"].session_id) == ("s-1", "s-2")


def raised(kind: str) -> tuple[SpanEvent, ...]:
    return (SpanEvent(name="exception", attributes={"exception.type": kind, "exception.message": "gone"}),)


def test_an_exception_on_a_span_that_did_not_fail_is_no_error() -> None:
    run = runs(
        agent("bot", until=9, status="ok", events=raised("GeneratorExit")),
        llm("one", parent="bot", at=1, given=[says("user", "hi")], answer=says("assistant", "hello")),
    )["bot"]

    assert run.status == "ok"


@pytest.mark.parametrize(
    "attributes",
    [
        {"error.type": "timeout"},
        {"langfuse.observation.level": "ERROR", "langfuse.observation.status_message": "timeout"},
    ],
    ids=["error.type", "langfuse"],
)
def test_a_failure_is_read_from_attributes_too(attributes: dict[str, JSONValue]) -> None:
    assert runs(agent("bot", attributes=attributes))["bot"].status == "error"


def flat(prefix: str, *messages: dict[str, str]) -> dict[str, JSONValue]:
    return {f"{prefix}{place}.message.{key}": text for place, one in enumerate(messages) for key, text in one.items()}


def test_the_oldest_messages_dropped_at_a_limit_leave_the_rest() -> None:
    given = flat("llm.input_messages.", *({"role": "user", "content": str(place)} for place in range(20)))
    kept = {key: value for key, value in given.items() if int(key.split(".")[2]) >= 15}
    answer = flat("llm.output_messages.", {"role": "assistant", "content": "done"})
    kind: dict[str, JSONValue] = {"openinference.span.kind": "LLM"}
    run = runs(span("one", attributes={**kind, **kept, **answer}, dropped=40))["one"]

    assert brief(run.input.input_messages) == [f"u: {place}" for place in range(15, 20)]
    assert run.output.text == "done"
    assert [issue.code for issue in run.issues] == ["truncated"]


def test_the_newest_messages_dropped_at_a_limit_are_no_empty_answer() -> None:
    given = flat("llm.input_messages.", *({"role": "user", "content": str(place)} for place in range(5)))
    run = runs(span("one", attributes={"openinference.span.kind": "LLM", **given}, dropped=40))["one"]

    assert [issue.code for issue in run.issues] == ["truncated"]


def test_an_absurd_index_and_a_gap_make_no_empty_messages() -> None:
    given: dict[str, JSONValue] = {
        "openinference.span.kind": "LLM",
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": "hi",
        "llm.input_messages.7.message.role": "user",
        "llm.input_messages.7.message.content": "there",
        "llm.input_messages.999999999.message.role": "user",
        "llm.input_messages.__proto__.message.role": "user",
        **flat("llm.output_messages.", {"role": "assistant", "content": "hello"}),
    }
    run = runs(span("one", attributes=given))["one"]

    assert brief(run.input.input_messages) == ["u: hi", "u: there"]


def test_a_value_cut_off_keeps_its_complete_messages() -> None:
    messages = dumped([says("user", "hi"), says("assistant", "hello"), says("user", "where?")])
    run = runs(llm("one", answer=says("assistant", "here"), attributes={"gen_ai.input.messages": messages[:-30]}))[
        "one"
    ]

    assert brief(run.input.remembered_messages) == ["u: hi", "a: hello"]
    assert "truncated" in {issue.code for issue in run.issues}


@pytest.mark.parametrize(
    ("name", "attributes", "role"),
    [
        ("ask_weather_agent", {"tool.name": "ask_weather_agent"}, "tool"),
        ("agent", {"metadata": '{"langgraph_node": "agent"}'}, "step"),
        ("call_agent", {"metadata": '{"langgraph_node": "weather_agent"}'}, "step"),
        ("weather_agent", {"metadata": '{"langgraph_node": "weather_agent"}'}, "agent"),
        ("model", {"metadata": '{"langgraph_node": "tools", "lc_agent_name": "bot"}'}, "agent"),
        ("start", {"metadata.trace.run_id": "1"}, "step"),
    ],
    ids=["a tool", "a turn", "a function of a node", "an agent in a node", "an agent by its name", "an event"],
)
def test_a_kind_that_was_guessed_from_a_name_is_no_agent(
    name: str, attributes: dict[str, JSONValue], role: SpanRole
) -> None:
    reading = KNOWN_DIALECTS.read(span(name, attributes={"openinference.span.kind": "AGENT", **attributes}), ())

    assert reading.role == role


@pytest.mark.parametrize(("name", "called"), [("bot.run", "bot"), ("CodeAgent.run", None), ("bot", None)])
def test_an_agent_that_is_named_in_its_spans_name_goes_by_it(name: str, called: str | None) -> None:
    assert KNOWN_DIALECTS.read(span(name, attributes={"openinference.span.kind": "AGENT"}), ()).agent_name == called


def test_counts_that_leave_each_other_out_are_added_where_they_sum_up() -> None:
    details = '{"input": 49, "input_cache_read": 8, "output": 8, "output_reasoning": 3, "total": 68}'
    attributes: dict[str, JSONValue] = {
        "langfuse.observation.type": "generation",
        "langfuse.observation.usage_details": details,
    }
    reading = KNOWN_DIALECTS.read(span("call", attributes=attributes), ())

    assert (reading.input_tokens, reading.cache_read_tokens) == (57, 8)
    assert (reading.output_tokens, reading.reasoning_tokens) == (11, 3)


@pytest.mark.parametrize(
    "attributes",
    [
        {"operation.cost": 0.25},
        {"gen_ai.cost.total_cost": "0.25"},
        {"mlflow.spanType": '"LLM"', "mlflow.llm.cost": '{"input_cost": 0.05, "total_cost": 0.25}'},
        {
            "ai.operationId": "ai.generateText.doGenerate",
            "ai.response.providerMetadata": '{"openai": {}, "gateway": {"cost": "0.25"}}',
        },
    ],
    ids=["pydantic-ai", "litellm", "mlflow", "a gateway of the AI SDK"],
)
def test_a_call_costs_what_its_library_says(attributes: dict[str, JSONValue]) -> None:
    reading = KNOWN_DIALECTS.read(span("call", attributes={"gen_ai.operation.name": "chat", **attributes}), ())

    assert reading.cost == 0.25


@pytest.mark.parametrize(
    ("provider", "more", "counts"),
    [
        ('{"openai": {"cachedPromptTokens": 8}}', {}, (57, 8, None)),
        ('{"anthropic": {"cacheReadInputTokens": 8, "cacheCreationInputTokens": 5}}', {}, (70, 8, 5)),
        (
            '{"anthropic": {"cacheCreationInputTokens": 5}}',
            {"ai.usage.inputTokenDetails.noCacheTokens": 44, "ai.usage.inputTokenDetails.cacheReadTokens": 8},
            (57, 8, 5),
        ),
    ],
    ids=["among the input", "beside the input", "the SDK adds up"],
)
def test_the_ai_sdk_tells_cached_tokens_in_what_a_provider_adds(
    provider: str, more: dict[str, JSONValue], counts: tuple[int | None, ...]
) -> None:
    attributes: dict[str, JSONValue] = {
        "ai.operationId": "ai.generateText.doGenerate",
        "ai.response.providerMetadata": provider,
        "ai.usage.promptTokens": 57,
        "gen_ai.usage.input_tokens": 57,
        **more,
    }
    reading = KNOWN_DIALECTS.read(span("call", attributes=attributes), ())

    assert (reading.input_tokens, reading.cache_read_tokens, reading.cache_write_tokens) == counts


def test_a_query_of_a_vector_store_is_a_retrieval() -> None:
    result: dict[str, JSONValue] = {"db.query.result.id": "7", "db.query.result.document": "Paris: sunny"}
    event = SpanEvent(name="db.query.result", time_ns=1, attributes=result)
    query = replace(span("chroma.query", attributes={"db.system": "chroma"}), events=(event,))
    reading = KNOWN_DIALECTS.read(query, ())

    assert (reading.role, reading.documents) == ("retrieval", (RetrievedDocument(id="7", text="Paris: sunny"),))


def test_session_user_and_tags_stand_beside_the_input_of_a_chain() -> None:
    noted = {"inputs": {"q": "?"}, "tags": ["prod"], "metadata": {"thread_id": "t-1", "user_id": "ada"}, "kwargs": {}}
    attributes: dict[str, JSONValue] = {"traceloop.span.kind": "workflow", "traceloop.entity.input": dumped(noted)}
    reading = KNOWN_DIALECTS.read(span("chain.workflow", attributes=attributes), ())

    assert (reading.session_id, reading.user_id, reading.tags) == ("t-1", "ada", ("prod",))


def test_the_recording_that_shows_the_calls_wins_where_another_leaves_them_out() -> None:
    told = [{"role": "assistant", "parts": [{"type": "text", "content": "I look"}], "finish_reason": "tool_call"}]
    block = {"block_type": "tool_call", "tool_call_id": "c1", "tool_name": "look", "tool_kwargs": "{}"}
    whole = {"message": {"role": "assistant", "blocks": [{"block_type": "text", "text": "I look"}, block]}}
    attributes: dict[str, JSONValue] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.output.messages": dumped(told),
        "traceloop.span.kind": "task",
        "traceloop.entity.output": dumped(whole),
    }
    output = KNOWN_DIALECTS.read(span("call", attributes=attributes), ()).output

    assert output is not None
    assert [call.name for call in output.said()[0].calls] == ["look"]


def test_a_conversation_spelled_in_one_text_is_read_in_langfuses_generations_too() -> None:
    attributes: dict[str, JSONValue] = {
        "langfuse.observation.type": "generation",
        "langfuse.observation.input": "system: be brief\nuser: Hi",
    }
    given = KNOWN_DIALECTS.read(span("call", attributes=attributes), ()).input

    assert given is not None
    assert [(said.role, said.text) for said in given.said()] == [("system", "be brief"), ("user", "Hi")]
