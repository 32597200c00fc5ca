"""``run_until_complete``: any agent, called until its scorers are content."""

# pyright: reportUnknownLambdaType=false
# Scorers and agents are untyped here: they are given what a user may get wrong.
from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from tests.completion.checks import giving, wanting
from tracescore import (
    AgentInput,
    AgentOutput,
    AgentRun,
    ConfigurationError,
    InputError,
    Message,
    Messages,
    RetrievedDocument,
    TaskCompletion,
    TextPart,
    ToolInvocationPart,
    create_scorer,
    run_until_complete,
    run_until_complete_sync,
    text_message,
)
from tracescore.bridge import run_sync

POLITE = wanting("please", id="polite")


def answer(messages: list[Any]) -> str:
    return "Sit down." if len(messages) == 1 else "Sit down, please."


async def answer_later(messages: list[Any]) -> str:
    return answer(messages)


def stream(messages: list[Any]) -> Iterator[str]:
    for word in answer(messages).split(" "):
        yield f"{word} "


async def stream_later(messages: list[Any]) -> AsyncIterator[str | Message]:
    yield Message(role="assistant", parts=(ToolInvocationPart(name="look", result="a chair"),))
    for word in stream(messages):
        yield word


async def opens_a_stream(messages: list[Any]) -> AsyncIterator[str | Message]:
    return stream_later(messages)


class Stateful:
    async def __call__(self, messages: list[Any]) -> list[dict[str, str]]:
        return [{"role": "assistant", "content": answer(messages)}]


def extra(words: str, messages: list[Any]) -> Message:
    return text_message("assistant", answer(messages) + words)


AGENTS: list[Any] = [
    answer,
    answer_later,
    stream,
    stream_later,
    opens_a_stream,
    Stateful(),
    functools.partial(extra, "!"),
    lambda messages: answer_later(messages),  # a def that gives a coroutine
    lambda messages: Messages([text_message("assistant", answer(messages))]),
    lambda messages: AgentRun(output=AgentOutput([text_message("assistant", answer(messages))])),
    lambda messages: {"role": "assistant", "content": answer(messages)},
]


@pytest.mark.parametrize("agent", AGENTS)
def test_any_callable_is_an_agent(agent: Any) -> None:
    result = run_until_complete_sync(agent, "Ask them to sit down.", [POLITE])

    assert (bool(result), result.complete, len(result.steps)) == (True, True, 2)
    assert result.text.strip(" !") == "Sit down, please."
    assert [message.role for message in result.messages if message.content] == [
        "user",
        "assistant",
        "user",
        "assistant",
    ]


def test_the_reasons_are_the_next_message() -> None:
    heard: list[Any] = []

    def agent(messages: list[Any]) -> str:
        heard.append(list(messages))
        return answer(messages)

    result = run_until_complete_sync(agent, "Ask them to sit down.", [POLITE])
    feedback = result.steps[0].completion.feedback

    assert "## polite: not passed (0, full score 1)\nsay 'please'" in feedback
    assert heard == [
        [{"role": "user", "content": "Ask them to sit down."}],
        [
            {"role": "user", "content": "Ask them to sit down."},
            {"role": "assistant", "content": "Sit down."},
            {"role": "user", "content": feedback},
        ],
    ]
    assert [step.number for step in result.steps] == [1, 2]
    assert result.completion is result.steps[-1].completion


def test_it_stops_at_max_steps() -> None:
    calls: list[int] = []
    result = run_until_complete_sync(lambda messages: calls.append(1) or "No.", "Task", [POLITE], max_steps=3)

    assert (bool(result), len(calls), len(result.steps)) == (False, 3, 3)
    assert result.text == "No."
    assert result.messages[-1].content == "No."  # nobody is left to hear the last feedback


def test_an_error_of_a_scorer_is_no_completion() -> None:
    result = run_until_complete_sync(answer, "Task", [POLITE, giving(ValueError("x"), id="broken")], max_steps=2)

    assert not result
    assert result.completion.reason.startswith("broken: the scorer failed in generate_score: ValueError: x")


def test_scorers_see_the_task_and_the_work_of_every_step() -> None:
    seen: list[AgentRun] = []
    called = ToolInvocationPart(name="pytest", result="2 passed")
    first = Message(role="assistant", parts=(TextPart(text="I test."), called))
    spy = create_scorer(id="spy", type="agent", version="1").generate_score(
        lambda ctx: seen.append(ctx.run) or float(len(ctx.run.output) > 1)
    )
    document = RetrievedDocument(id="d", text="A fact.")
    replies: Any = iter([AgentRun(output=AgentOutput([first]), contexts=(document,)), "Done."])
    context = {"tenant": "a"}
    result = run_until_complete_sync(
        lambda messages: next(replies), "Write it", [spy], max_steps=4, request_context=context
    )

    assert [run.input.text for run in seen] == ["Write it", "Write it"]
    assert [[message.content for message in run.output] for run in seen] == [["I test."], ["I test.", "Done."]]
    assert seen[1].output.tool_calls == (called,)
    assert seen[1].output.text == "Done."
    assert [dict(run.additional_context) for run in seen] == [{"step": n, "max_steps": 4} for n in (1, 2)]
    assert [run.contexts for run in seen] == [(document,), (document,)]
    assert seen[0].request_context == context
    assert result.output == [text_message("assistant", "Done.")]
    assert result.run.output == seen[1].output


def test_on_complete_hears_of_every_check() -> None:
    heard: list[bool] = []

    async def later(completion: TaskCompletion) -> None:
        await asyncio.sleep(0)
        heard.append(completion.complete)

    run_until_complete_sync(answer, "Task", [POLITE], on_complete=lambda completion: heard.append(bool(completion)))
    run_until_complete_sync(answer, "Task", [POLITE], on_complete=later)

    assert heard == [False, True, False, True]


def test_what_on_complete_or_the_agent_raises_comes_out() -> None:
    def stop(_: object) -> str:
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        run_until_complete_sync(answer, "Task", [POLITE], on_complete=stop)
    with pytest.raises(KeyError, match="enough"):
        run_until_complete_sync(stop, "Task", [POLITE])


def test_suppressed_feedback_reaches_the_agent_but_not_the_history() -> None:
    result = run_until_complete_sync(answer, "Task", [POLITE], suppress_feedback=True)

    assert result.complete
    assert [message.content for message in result.messages] == ["Task", "Sit down.", "Sit down, please."]


@pytest.mark.parametrize(
    "task",
    [
        "Task",
        text_message("user", "Task"),
        [{"role": "user", "content": "Task"}],
        AgentInput(
            input_messages=Messages([text_message("user", "Task")]),
            system_messages=Messages([text_message("system", "Be polite.")]),
        ),
    ],
)
def test_a_task_is_text_or_messages(task: Any) -> None:
    heard: list[Any] = []
    run_until_complete_sync(lambda messages: heard.append(messages) or "please", task, [POLITE])

    assert heard[0][-1] == {"role": "user", "content": "Task"}
    assert len(heard[0]) == (2 if isinstance(task, AgentInput) else 1)


@pytest.mark.parametrize("task", ["", None, 7, []])
def test_what_is_no_task_is_refused_before_the_agent_is_called(task: Any) -> None:
    calls: list[Any] = []

    with pytest.raises(InputError, match="the task is"):
        run_until_complete_sync(lambda messages: calls.append(1) or "x", task, [POLITE])
    assert calls == []


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (None, "the agent gave None: return its answer"),
        (7, "the agent gave neither text nor messages: 7"),
        ([7], "the agent gave neither text nor messages"),
        ({"answer": "x"}, "the agent gave neither text nor messages"),
    ],
)
def test_what_is_no_answer_is_refused(reply: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        run_until_complete_sync(lambda messages: reply, "Task", [POLITE])


@pytest.mark.parametrize(
    ("agent", "scorers", "options", "message"),
    [
        (answer, [], {}, "scorers= is empty"),
        ("gpt-5", [POLITE], {}, "agent= takes what can be called"),
        (answer, [POLITE], {"max_steps": 0}, "max_steps=0: give a whole number from 1"),
        (answer, [POLITE], {"max_steps": 2.5}, "max_steps=2.5"),
        (answer, [POLITE], {"strategy": "most"}, "strategy 'most' is unknown"),
    ],
)
def test_what_cannot_work_is_refused(agent: Any, scorers: Any, options: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        run_until_complete_sync(agent, "Task", scorers, **options)


def test_an_agent_that_blocks_does_not_block_the_loop() -> None:
    async def race() -> list[str]:
        order: list[str] = []
        beside = asyncio.Event()
        loop = asyncio.get_running_loop()

        def blocking(messages: list[Any]) -> str:
            loop.call_soon_threadsafe(beside.set)
            asyncio.run_coroutine_threadsafe(heard.wait(), loop).result(5)
            order.append("agent")
            return "please"

        async def other() -> None:
            await beside.wait()
            order.append("other")
            heard.set()

        heard = asyncio.Event()
        await asyncio.gather(run_until_complete(blocking, "Task", [POLITE]), other())
        return order

    assert run_sync(race()) == ["other", "agent"]


def test_a_plain_agent_that_raises_stop_iteration_does_not_hang() -> None:
    with pytest.raises(RuntimeError, match="the agent raised StopIteration"):
        run_until_complete_sync(lambda messages: next(iter(())), "Task", [POLITE])
