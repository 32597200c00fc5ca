"""Runs for tests, as short as they can be written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from typing_extensions import Unpack

from tracescore.model import (
    AgentInput,
    AgentOutput,
    AgentRun,
    JSONValue,
    Message,
    Messages,
    RetrievedDocument,
    Role,
    Target,
    ToolInvocationPart,
    text_message,
)
from tracescore.model.ids import run_id
from tracescore.scorers.intake import RunFields

Said: TypeAlias = str | Message | Sequence[Message | tuple[Role, str]]
"""One text, one message, or messages; a message of one text may be a pair of role and text."""


def tool(
    name: str,
    arguments: JSONValue = None,
    *,
    result: JSONValue = None,
    error: str | None = None,
    id: str | None = None,
) -> ToolInvocationPart:
    """Make a tool call with what came of it.

    Example:
        >>> tool("weather", {"city": "Paris"}, result="sunny").result
        'sunny'
    """
    return ToolInvocationPart(
        name=name, id=id, arguments={} if arguments is None else arguments, result=result, error=error
    )


def run(
    *,
    input: Said = (),
    output: Said = (),
    tools: Sequence[ToolInvocationPart] = (),
    remembered: Said = (),
    system: Said = (),
    tagged: Mapping[str, Said] | None = None,
    retrieved: Sequence[str | RetrievedDocument] = (),
    agent: str | None = None,
    number: int = 1,
    **fields: Unpack[RunFields],
) -> AgentRun:
    """Make an agent's run.

    Args:
        input: what it was asked; text is the user's.
        output: what it answered; text is the assistant's.
        tools: the calls that it made first, as one assistant message before the output.
        remembered: what stood before the input; text is the user's.
        system: its system messages.
        tagged: system messages by the tag of their origin.
        retrieved: the documents that it retrieved, or their texts: its ``contexts``.
        agent: its name.
        number: what its ids are made of, so that several runs differ.
        fields: the other fields of a run, such as ``ground_truth``.

    Example:
        >>> made = run(input="Is it sunny?", output="Yes.", tools=[tool("weather", {"city": "Paris"}, result="sunny")])
        >>> made.output.text, made.output.tool_calls[0].name
        ('Yes.', 'weather')
    """
    trace_id, span_id = f"{number:032x}", f"{number:016x}"
    calls = [Message(role="assistant", parts=tuple(tools))] if tools else []
    given: dict[str, object] = {
        "run_id": run_id(kind="agent", trace_id=trace_id, span_id=span_id),
        "target": Target(trace_id=trace_id, span_id=span_id),
        **fields,
    }
    if retrieved:
        given["contexts"] = tuple(RetrievedDocument(text=one) if isinstance(one, str) else one for one in retrieved)
    return AgentRun(
        input=AgentInput(
            input_messages=messages(input, role="user"),
            remembered_messages=messages(remembered, role="user"),
            system_messages=messages(system, role="system"),
            tagged_system_messages={tag: messages(said, role="system") for tag, said in (tagged or {}).items()},
        ),
        output=AgentOutput([*calls, *messages(output, role="assistant")]),
        agent_name=agent,
        **given,  # type: ignore[arg-type]  # the fields are checked where this is called
    )


def messages(said: Said, *, role: Role) -> Messages:
    """Give what may be said in short as messages; ``role`` is that of a mere text."""
    if isinstance(said, str):
        return Messages([text_message(role, said)] if said else [])
    if isinstance(said, Message):
        return Messages([said])
    return Messages(one if isinstance(one, Message) else text_message(*one) for one in said)
