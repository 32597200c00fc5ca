"""One conversation in Langfuse's export form, written by hand."""

from __future__ import annotations

import json
from typing import Any

TRACE_ID = "11d0b6f2-2c30-4f52-8a3e-5b0f6f6f2c01"
QUESTION, ANSWER = "How warm is it in Rome?", "21 degrees, Bo."
HISTORY = [{"role": "user", "content": "I am Bo."}, {"role": "assistant", "content": "Hello Bo."}]
CALL = {"id": "c1", "type": "function", "function": {"name": "warmth", "arguments": '{"city": "Rome"}'}}


def observation(number: int, kind: str, name: str, *, parent: int | None = None, **fields: Any) -> dict[str, Any]:
    return {
        "id": f"7e0f1c54-0000-4000-8000-{number:012d}",
        "traceId": TRACE_ID,
        "type": kind,
        "name": name,
        "parentObservationId": None if parent is None else f"7e0f1c54-0000-4000-8000-{parent:012d}",
        "startTime": f"2026-03-01T10:00:0{number}.250Z",
        "endTime": f"2026-03-01T10:00:0{number + 1}.000Z",
        "level": "DEFAULT",
        "statusMessage": None,
        "metadata": {"plan": "free"},
        **fields,
    }


def generation(number: int, messages: list[Any], output: Any, *, cost: float) -> dict[str, Any]:
    return observation(
        number,
        "GENERATION",
        "chat",
        parent=1,
        model="m-1",
        modelParameters={"temperature": 0},
        input=messages,
        output=output,
        usageDetails={"input": 10, "output": 4, "total": 14},
        costDetails={"total": cost},
    )


def export(*, as_text: bool = False, inner: bool = False) -> dict[str, Any]:
    """Give an export: values as objects, as the API gives them, or as text, as the pages write them."""
    asked = [{"role": "system", "content": "Be brief."}, *HISTORY, {"role": "user", "content": QUESTION}]
    called = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    result = {"role": "tool", "tool_call_id": "c1", "content": "21"}
    observations = [
        generation(2, asked, called, cost=0.25),
        observation(1, "AGENT", "guide", input={"question": QUESTION}, output=ANSWER),
        observation(3, "TOOL", "warmth", parent=1, input={"city": "Rome"}, output="21"),
        generation(4, [*asked, called, result], {"role": "assistant", "content": ANSWER}, cost=0.5),
    ]
    if as_text:
        for item in observations:
            for key in ("input", "output", "metadata"):
                item[key] = item[key] if isinstance(item[key], str) else json.dumps(item[key])
    trace: dict[str, Any] = {
        "id": TRACE_ID,
        "name": "weather",
        "timestamp": "2026-03-01T10:00:01Z",
        "sessionId": "thread-1",
        "userId": "bo",
        "tags": ["beta"],
        "scores": [
            {"name": "polite", "value": 0.5, "comment": "so so", "timestamp": "2026-03-01T11:00:00Z"},
            {"name": "tone", "stringValue": "dry", "value": None, "observationId": observations[3]["id"]},
        ],
    }
    return {**trace, "observations": observations} if inner else {"trace": trace, "observations": observations}
