"""Runs and traces that users build for their tests are those that the product would make."""

from __future__ import annotations

import pytest

from tracescore import Message, ReasoningPart, RetrievedDocument, text_message
from tracescore.model import AgentRun, content_hash
from tracescore.testing import agent, run, runs_of, tool, trace

WEATHER = tool("weather", {"city": "Paris"}, result={"sky": "sunny"}, id="c1")
FAILED = tool("forecast", {"days": 3}, error="out of service", id="c2")


def test_a_run_holds_what_it_is_given() -> None:
    made = run(
        input="Is it sunny?",
        output="It is.",
        tools=[WEATHER],
        remembered=[("user", "Hi"), ("assistant", "Hello")],
        system="Be brief.",
        tagged={"memory": "Likes sun."},
        retrieved=["Paris is sunny.", RetrievedDocument(id="d2", text="It rains.")],
        agent="helper",
        ground_truth="yes",
        request_context={"rubric": ["short"]},
    )

    assert (made.input.text, made.output.text, made.agent_name) == ("Is it sunny?", "It is.", "helper")
    assert [message.content for message in made.input.remembered_messages] == ["Hi", "Hello"]
    assert made.input.system_messages == [text_message("system", "Be brief.")]
    assert made.input.tagged_system_messages["memory"].text == ""
    assert made.output.tool_calls == (WEATHER,)
    assert [document.text for document in made.contexts] == ["Paris is sunny.", "It rains."]
    assert (made.ground_truth, made.request_context) == ("yes", {"rubric": ["short"]})


def test_runs_of_other_numbers_are_other_runs() -> None:
    assert run(number=1) == run(number=1)
    assert len({run(number=number).run_id for number in range(3)}) == 3
    assert run(number=2).target != run(number=1).target


@pytest.mark.parametrize(
    "options",
    [
        {"input": "Is it sunny?", "output": "It is."},
        {"input": "Is it sunny?", "output": "It is.", "system": "Be brief."},
        {"input": "Go on.", "output": "Fine.", "remembered": [("user", "Hi"), ("assistant", "Hello")]},
        {"input": "Is it sunny?", "output": "It is.", "tools": [WEATHER]},
        {"input": "Is it sunny?", "tools": [WEATHER], "output": ()},
    ],
)
def test_a_trace_comes_to_the_run_of_the_same_words(options: dict[str, object]) -> None:
    (rebuilt,) = runs_of(trace(agent("helper", **options)))  # type: ignore[arg-type]  # the same words for both
    made = run(agent="helper", **options)  # type: ignore[arg-type]

    assert without_times(rebuilt) == without_times(made)
    assert (rebuilt.run_id, rebuilt.agent_name) == (made.run_id, made.agent_name)


def without_times(made: AgentRun) -> list[object]:
    """Give a run's content; calls that were made have a duration, and those that are built have none."""
    parts = [(call.name, call.id, call.arguments, call.result, call.error) for call in made.output.tool_calls]
    return [made.input, [message.content for message in made.output], parts]


def test_the_content_of_a_built_run_has_a_hash() -> None:
    assert content_hash(run(output="a")) == content_hash(run(output="a", number=2)) != content_hash(run(output="b"))


def test_a_tool_that_failed_says_so() -> None:
    (rebuilt,) = runs_of(trace(agent("helper", input="Forecast?", output="I cannot tell.", tools=[FAILED])))

    assert (rebuilt.output.tool_calls[0].error, rebuilt.status) == ("out of service", "ok")


def test_an_agent_that_is_called_is_a_nested_run_and_a_tool_of_the_other() -> None:
    researcher = agent("researcher", input="Weather in Paris?", output="Sunny.", tools=[WEATHER])
    made = trace(agent("supervisor", input="Is it sunny?", output="Yes.", tools=[researcher]), number=7)
    by_name = {found.agent_name: found for found in runs_of(made)}

    assert made.trace_id == f"{7:032x}"
    assert [(call.name, call.result) for call in by_name["supervisor"].output.tool_calls] == [("researcher", "Sunny.")]
    assert (by_name["researcher"].outermost, by_name["supervisor"].outermost) == (False, True)
    assert by_name["researcher"].parent_run_id == by_name["supervisor"].run_id


def test_what_a_trace_says_of_itself_is_read() -> None:
    failed = agent("helper", input="Hi", error="no model", attributes={"session.id": "s1"})
    first, second = runs_of(trace(failed, agent("other", input="Hi", output="Ho"), environment="staging"))

    assert (first.status, first.session_id, first.service, first.environment) == ("error", "s1", "tests", "staging")
    assert second.output.text == "Ho"


def test_a_trace_takes_messages_of_text_alone() -> None:
    thought = Message(role="user", parts=(ReasoningPart(text="Hm."),))

    with pytest.raises(TypeError, match="holds text; give calls as tools="):
        trace(agent("helper", input=thought, output="Fine."))
