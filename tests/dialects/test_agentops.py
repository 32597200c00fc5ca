"""AgentOps: decorated functions around the calls of a client."""

from __future__ import annotations

from typing import Any

from tests.assembly.building import runs, span


def decorated(name: str, kind: str, *, parent: str | None = None, at: int = 0, until: int = 90, **more: Any) -> Any:
    own = {"agentops.span.kind": kind, "operation.name": name.partition(".")[0]}
    attributes = {**own, **{key.replace("__", "."): value for key, value in more.items()}}
    return span(name, parent=parent, at=at, until=until, attributes=attributes)


def model(name: str, *, at: int, until: int, **more: str) -> Any:
    attributes: dict[str, Any] = {
        "gen_ai.request.model": "m",
        "gen_ai.request.type": "chat",
        "gen_ai.usage.prompt_tokens": 3,
    }
    attributes |= {f"gen_ai.{key.replace('__', '.')}": value for key, value in more.items()}
    return span(name, parent="ask.task", at=at, until=until, attributes=attributes)


ASKED = {
    "prompt__0__role": "system",
    "prompt__0__content": "You look.",
    "prompt__1__role": "user",
    "prompt__1__content": "Paris?",
}


def test_an_agent_of_decorators_is_one_run_with_its_tools() -> None:
    (run,) = runs(
        decorated("flow.session", "session", agentops__entity__input='{"args": ["Paris?"], "kwargs": {}}'),
        decorated(
            "Guide.agent", "agent", parent="flow.session", at=1, agentops__entity__input='{"args": [], "kwargs": {}}'
        ),
        decorated(
            "ask.task",
            "task",
            parent="Guide.agent",
            at=2,
            agentops__task__input='{"args": [], "kwargs": {"q": "Paris?"}}',
        ),
        model("first", at=3, until=9, **ASKED, completion__0__role="assistant", completion__0__content="Looking."),
        decorated(
            "tool_call.look",
            "AgentOpsSpanKindValues.TOOL",
            parent="first",
            at=8,
            until=9,
            tool__name="look",
            tool__parameters='{"city": "Paris"}',
            tool__call__id="c1",
        ),
        decorated(
            "look.tool",
            "tool",
            parent="ask.task",
            at=10,
            until=12,
            agentops__tool__input='{"args": [], "kwargs": {"city": "Paris"}}',
            agentops__tool__output="18C",
        ),
        model("second", at=20, until=29, **ASKED, completion__0__role="assistant", completion__0__content="It is 18C."),
    ).values()

    assert (run.agent_name, run.kind, run.issues) == ("Guide", "agent", ())
    assert [message.content for message in run.input.system_messages] == ["You look."]
    assert [message.content for message in run.input.input_messages] == ["Paris?"]
    assert [(call.name, call.arguments, call.result) for call in run.output.tool_calls] == [
        ("look", {"city": "Paris"}, "18C")
    ]
    assert run.output[-1].content == "It is 18C."


def test_without_model_calls_the_functions_say_what_was_asked_and_answered() -> None:
    (run,) = runs(
        decorated(
            "Guide.agent",
            "agent",
            agentops__entity__input='{"args": ["Paris?"], "kwargs": {}}',
            agentops__entity__output="It is 18C.",
            agentops__tags=["a"],
        )
    ).values()

    assert [message.content for message in run.input.input_messages] == ["Paris?"]
    assert run.output[-1].content == "It is 18C."
    assert run.tags == ("a",)
