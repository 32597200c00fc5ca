"""The doors towards judges and sinks: markers that count, the same wherever a run's texts go."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.redaction.policies import KEY, RAISING
from tracescore import (
    AgentInput,
    AgentOutput,
    AgentRun,
    Message,
    Messages,
    Redaction,
    RedactionError,
    ToolInvocationPart,
    text_message,
)
from tracescore.model import DataPart, ErrorPart, RetrievedDocument
from tracescore.pipeline.redacting import judge_door

POLICY = Redaction()
CALL = ToolInvocationPart(
    name="mail", arguments={"to": ["c@example.com"]}, result={"cc": "d@example.com"}, error="e@example.com"
)
DATA, ERROR = DataPart(data={"f": "f@example.com"}), ErrorPart(message="g@example.com")
RUN = AgentRun(
    run_id="run-1",
    input=AgentInput(
        input_messages=Messages([text_message("user", "Mail a@example.com")]),
        remembered_messages=Messages([text_message("user", "I am b@example.com")]),
    ),
    output=AgentOutput(
        [
            Message(
                role="assistant",
                parts=(CALL, DATA, ERROR),
            ),
            text_message("assistant", "Sent to c@example.com."),
        ]
    ),
    contexts=(RetrievedDocument(text="h@example.com"),),
    metadata={"owner": "i@example.com"},
)


def test_values_are_numbered_as_they_stand_in_the_run() -> None:
    """So two scorers that ask in another order, or of a run that was cut, speak of the same `[email:3]`."""
    one, other = POLICY.judge_redactor(RUN), POLICY.judge_redactor(RUN)

    assert one.redact("c@example.com, a@example.com") == "[email:3], [email:1]"
    assert other.redact("b@example.com") == "[email:2]"
    assert other.redact("c@example.com") == "[email:3]"
    assert other.redact("d, e, f, i, h@example.com and z@example.com") == "d, e, f, i, [email:9] and [email:10]"


def test_without_a_run_values_are_numbered_as_they_come() -> None:
    door = POLICY.judge_redactor()

    assert door.redact(f"b@example.com, +49 30 901820, {KEY}") == "[email:1], [phone:1], [api_key:1]"
    assert door.redact("a@example.com, b@example.com") == "[email:2], [email:1]"


def test_a_text_without_any_is_the_same_text() -> None:
    text = "Nothing to see in 2026."

    assert POLICY.judge_redactor(RUN).redact(text) is text


def test_a_sink_counts_on_from_the_markers_of_the_judge() -> None:
    door = POLICY.sink_redactor()

    assert (
        door.redact("[email:2] wrote to x@example.com and y@example.com")
        == "[email:2] wrote to [email:3] and [email:4]"
    )
    assert door.redact("x@example.com") == "[email:3]"


def test_a_rule_that_raises_lets_nothing_pass() -> None:
    for door in (RAISING.judge_redactor(replace(RUN)), RAISING.sink_redactor()):
        with pytest.raises(RedactionError, match=r"^redaction rule 'odd' raised ValueError$"):
            door.redact("the oddity itself")


def test_the_door_of_a_run_is_there_where_a_policy_is() -> None:
    door = judge_door(POLICY, RUN)

    assert judge_door(None, RUN) is None
    assert door is not None
    assert door.redact("to c@example.com") == "to [email:3]"
