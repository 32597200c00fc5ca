"""Turns of one conversation, joined: each message once, in order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.assembly.building import brief
from tracescore.model import (
    AgentInput,
    AgentOutput,
    AgentRun,
    Issue,
    Message,
    Messages,
    RetrievedDocument,
    Target,
    ToolInvocationPart,
    Usage,
    dump_run,
    load_run,
    text_message,
)
from tracescore.model.ids import run_id
from tracescore.pipeline import session_runs
from tracescore.pipeline.session_runs import session_record, session_run
from tracescore.store import StoredTurn


def said(*lines: str) -> list[Message]:
    """Read lines such as ``u: hello`` and ``a: hi``."""
    return [text_message("user" if line[0] == "u" else "assistant", line[3:]) for line in lines]


def turn(number: int, *, asked: str, answered: str, memory: tuple[str, ...] = (), **more: Any) -> AgentRun:
    return AgentRun(
        run_id=f"{number:032x}",
        target=Target(trace_id=f"{number:032x}", span_id=f"{number:016x}"),
        session_id="s",
        agent_name="helper",
        input=AgentInput(input_messages=Messages(said(f"u: {asked}")), remembered_messages=Messages(said(*memory))),
        output=AgentOutput(said(f"a: {answered}")),
        start_ns=number * 10,
        end_ns=number * 10 + 5,
        **more,
    )


ONE = turn(1, asked="hi", answered="hello", usage=Usage(input=3, output=1), cost=0.5, tags=("a",))
TWO = turn(2, asked="yes", answered="yes", memory=("u: hi", "a: hello"), usage=Usage(input=4), tags=("b", "a"))
THREE = turn(3, asked="yes", answered="done", memory=("u: hi", "a: hello", "u: yes", "a: yes"))


def test_each_turns_messages_are_there_once_and_in_order() -> None:
    run = session_run("default", "s", [ONE, TWO, THREE])

    assert brief(run.input.remembered_messages) == ["u: hi", "a: hello", "u: yes", "a: yes"]
    assert (brief(run.input.input_messages), brief(run.output)) == (["u: yes"], ["a: done"])
    assert brief(run.conversation) == ["u: hi", "a: hello", "u: yes", "a: yes", "u: yes", "a: done"]


@pytest.mark.parametrize(
    ("memory", "remembered"),
    [
        ((), ["u: hi", "a: hello"]),
        (("u: hi",), ["u: hi", "a: hello"]),
        (("u: hi", "a: hello", "u: untraced", "a: told"), ["u: hi", "a: hello", "u: untraced", "a: told"]),
        (("u: a summary", "a: of it all", "u: hi", "a: hello"), ["u: hi", "a: hello"]),
    ],
)
def test_a_memory_adds_only_what_goes_beyond_all_that_was_said(memory: tuple[str, ...], remembered: list[str]) -> None:
    run = session_run("default", "s", [ONE, turn(2, asked="and?", answered="so", memory=memory)])

    assert brief(run.input.remembered_messages) == remembered


def test_what_was_before_the_first_turn_is_remembered() -> None:
    first = turn(1, asked="hi", answered="hello", memory=("u: few", "a: shot"))

    assert brief(session_run("default", "s", [first]).conversation) == ["u: few", "a: shot", "u: hi", "a: hello"]


def test_a_session_has_no_target_and_sums_up_its_turns() -> None:
    documents = (RetrievedDocument(id="1", text="x"),)
    issue = Issue(code="truncated", detail="cut")
    turns = [replace(ONE, contexts=documents, issues=(issue,)), replace(TWO, contexts=documents, issues=(issue,))]
    run = session_run("default", "s", turns)

    assert (run.kind, run.target, run.session_id, run.outermost) == ("session", None, "s", True)
    assert run.run_id == run_id(kind="session", session_id="s")
    assert (run.usage, run.cost, run.tags) == (Usage(input=7, output=1), 0.5, ("a", "b"))
    assert (run.contexts, run.issues) == (documents, (issue,))
    assert (run.start_ns, run.end_ns, run.status, run.agent_name) == (10, 25, "ok", "helper")
    assert session_run("default", "s", [ONE, replace(TWO, agent_name="other")]).agent_name is None
    assert load_run(dump_run(run)) == run


def test_a_turn_that_was_paused_and_taken_up_again_is_one_turn() -> None:
    call = ToolInvocationPart(name="pay", id="c1", arguments={"sum": 1})
    paused = replace(ONE, status="paused", output=AgentOutput([Message(role="assistant", parts=(call,))]))
    paid = Message(role="assistant", parts=(replace(call, result="paid"),))
    resumed = replace(ONE, run_id="2" * 32, start_ns=20, output=AgentOutput([paid, *said("a: done")]))
    other = replace(resumed, output=AgentOutput(said("a: never mind")))

    assert brief(session_run("default", "s", [paused, resumed]).conversation) == [
        "u: hi",
        "a: pay({'sum': 1}) -> paid",
        "a: done",
    ]
    assert brief(session_run("default", "s", [paused, other]).conversation) == [
        "u: hi",
        "a: pay({'sum': 1}) -> None",
        "u: hi",
        "a: never mind",
    ]


def test_a_long_conversation_is_cut_to_its_newest_turns_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = [StoredTurn(body=dump_run(one), first_arrival_ns=one.start_ns) for one in (ONE, TWO, THREE)]
    for limit, value in (("MAX_TURNS", 2), ("MAX_BYTES", sum(len(one.body) for one in turns[1:]))):
        with monkeypatch.context() as patch:
            patch.setattr(session_runs, limit, value)
            record = session_record("default", "s", turns)
        assert record is not None
        run = load_run(record.body)

        assert [issue.code for issue in run.issues] == ["capped"]
        assert brief(run.input.remembered_messages) == ["u: hi", "a: hello", "u: yes", "a: yes"]
        assert (record.first_arrival_ns, record.trace_id, record.session_id) == (20, None, "s")
    assert session_record("default", "s", []) is None
