"""Assembly: spans of a trace into runs, and a history that every call repeats.

Traces are decoded beforehand: what is measured is `assemble` alone, in CPU seconds, the least of many rounds. The limit
of each, measured in the same rounds, is what no reader of spans gets below: the attributes of the same spans out of
their JSON, and one dict built for each span. The history is of one dialect, then of two that take turns; its ratio is
the time for each byte at the long history over that at the short one.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import orjson

from benchmarks.figures import Stopwatch, report
from tracescore.model import JSONValue, Span, Trace
from tracescore.pipeline.assembly import assemble
from tracescore.sources import read_files

FOLDERS = (Path(__file__).parent.parent / "tests" / "corpus", Path(__file__).parent.parent / "tracescore" / "cli")
TARGET = 2000
"""Traces of eight spans a second and core."""
RATIO = 1.5
SHORT, LONG = 150, 600
SPANS = 8
_SECOND = 1_000_000_000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    made = [eight_spans(number) for number in range(64)]
    for name, traces in (("assembly_recorded_spans", recorded()), ("assembly_eight_spans", made)):
        spans = sum(len(trace.spans) for trace in traces)
        seconds, limit = _least(options.rounds, lambda traces=traces: _assemble(traces), _bare(traces))
        report(
            benchmark=name,
            unit=f"traces of {SPANS} spans; {seconds / spans * 1e6:.0f} µs a span; {TARGET} a second are asked for",
            figure=spans / SPANS / seconds,
            cpu_ms_per_unit=seconds / spans * SPANS * 1000,
            limit=spans / SPANS / limit,
            limit_is="attributes out of JSON and a dict for each span, in the same rounds",
            target_ratio=round(TARGET * limit * SPANS / spans, 3),
        )
    failed = False
    for name, dialects in (("one_dialect", (_genai,)), ("two_dialects", (_genai, _openinference))):
        short, long = history(SHORT, dialects), history(LONG, dialects)
        quick, slow = _least(options.rounds, lambda short=short: assemble(short), lambda long=long: assemble(long))
        per_byte = [quick / _size(short), slow / _size(long)]
        ratio = per_byte[1] / per_byte[0]
        failed = failed or ratio > RATIO
        report(
            benchmark=f"assembly_history_{name}",
            unit=f"MB of a history of {LONG} messages; a byte takes {ratio:.2f} of the time at {SHORT}, {RATIO} asked",
            figure=1e-6 / per_byte[1],
            cpu_ms_per_unit=per_byte[1] * 1e9,
            limit=1e-6 / per_byte[0],
            limit_is=f"a history of {SHORT} messages, in the same rounds",
            target_ratio=round(1 / RATIO, 3),
        )
    return int(failed)


def recorded() -> list[Trace]:
    """Read every recorded trace."""
    files = sorted(path for folder in FOLDERS for path in folder.rglob("*.json") if not path.stem.endswith(".logs"))
    return [trace for path in files for trace in read_files([path]).traces]


def eight_spans(number: int) -> Trace:
    """Make a trace of a request, the agent inside, three model calls, two tool calls and an HTTP call."""
    messages: list[dict[str, Any]] = [_text("user", f"What is the weather in the town of number {number}?")]
    spans = [_span(number, 0, None, {"http.request.method": "POST", "http.route": "/chat"}, 0, 100)]
    given = [_text("system", "You answer concisely.")]
    agent: dict[str, JSONValue] = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "weather",
        "gen_ai.conversation.id": "c1",
    }
    spans.append(_span(number, 1, 0, {**agent, "gen_ai.input.messages": _dump(messages)}, 1, 99))
    for turn in range(3):
        call = {"type": "tool_call", "id": f"call-{turn}", "name": "weather", "arguments": {"town": f"{number}-{turn}"}}
        result = {"type": "tool_call_response", "id": f"call-{turn}", "result": "18C and sunny, light wind"}
        answer = {"role": "assistant", "parts": [call]} if turn < 2 else _text("assistant", "18C and sunny.")
        spans.append(
            _span(
                number,
                2 + 2 * turn,
                1,
                _genai(messages, answer, system=given, turn=turn),
                10 + 20 * turn,
                19 + 20 * turn,
            )
        )
        if turn < 2:
            tool: dict[str, JSONValue] = {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "weather",
                "gen_ai.tool.call.id": f"call-{turn}",
                "gen_ai.tool.call.arguments": _dump(call["arguments"]),
                "gen_ai.tool.call.result": result["result"],
            }
            spans.append(_span(number, 3 + 2 * turn, 1, tool, 20 + 20 * turn, 29 + 20 * turn))
        messages += [answer, {"role": "tool", "parts": [result]}]
    spans.append(_span(number, SPANS - 1, 6, {"http.request.method": "POST", "http.response.status_code": 200}, 51, 58))
    return Trace(trace_id=f"{number:032x}", spans=tuple(spans))


def history(length: int, dialects: Sequence[Callable[..., dict[str, JSONValue]]]) -> Trace:
    """Make a run whose every call repeats all that was said; the dialects of its calls take turns."""
    messages: list[dict[str, Any]] = []
    spans = [_span(1, 0, None, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "long"}, 0, length + 1)]
    for turn in range(length // 2):
        messages.append(_text("user", f"{turn} asks " + "for more of it " * 12))
        answer = _text("assistant", f"{turn} answers " + "with more of it " * 12)
        read = dialects[turn % len(dialects)]
        spans.append(_span(1, turn + 1, 0, read(messages, answer, turn=turn), turn * 2 + 1, turn * 2 + 2))
        messages.append(answer)
    return Trace(trace_id=f"{length:032x}", spans=tuple(spans))


def _text(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


def _genai(
    messages: Sequence[dict[str, Any]], answer: dict[str, Any], *, turn: int, system: Sequence[dict[str, Any]] = ()
) -> dict[str, JSONValue]:
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-5-mini",
        "gen_ai.response.model": "gpt-5-mini-2025",
        "gen_ai.response.id": f"response-{turn}",
        "gen_ai.response.finish_reasons": ["stop"],
        "gen_ai.usage.input_tokens": 120 + turn,
        "gen_ai.usage.output_tokens": 20,
        "gen_ai.input.messages": _dump([*system, *messages]),
        "gen_ai.output.messages": _dump([answer]),
        "server.address": "api.openai.com",
        "server.port": 443,
    }


def _openinference(messages: Sequence[dict[str, Any]], answer: dict[str, Any], *, turn: int) -> dict[str, JSONValue]:
    found: dict[str, JSONValue] = {
        "openinference.span.kind": "LLM",
        "llm.model_name": "gpt-5-mini-2025",
        "llm.token_count.prompt": 120 + turn,
        "llm.token_count.completion": 20,
    }
    for prefix, listed in (("llm.input_messages", messages), ("llm.output_messages", [answer])):
        for place, message in enumerate(listed):
            found[f"{prefix}.{place}.message.role"] = message["role"]
            found[f"{prefix}.{place}.message.content"] = message["parts"][0]["content"]
    return found


def _span(trace: int, number: int, above: int | None, attributes: dict[str, JSONValue], start: int, end: int) -> Span:
    return Span(
        trace_id=f"{trace:032x}",
        span_id=f"{number + 1:016x}",
        parent_span_id=None if above is None else f"{above + 1:016x}",
        name=str(attributes.get("gen_ai.operation.name", "call")),
        start_ns=start * _SECOND,
        end_ns=end * _SECOND,
        attributes=attributes,
        resource={"service.name": "assistant", "telemetry.sdk.language": "python"},
        scope_name="assistant",
        arrived_ns=end * _SECOND,
    )


def _dump(value: object) -> str:
    return orjson.dumps(value).decode()


def _size(trace: Trace) -> int:
    return sum(len(orjson.dumps(span.attributes)) for span in trace.spans)


def _assemble(traces: Sequence[Trace]) -> None:
    for trace in traces:
        assemble(trace)


def _bare(traces: Sequence[Trace]) -> Callable[[], None]:
    kept = [(span.span_id, span.name, orjson.dumps(span.attributes)) for trace in traces for span in trace.spans]

    def read() -> None:
        for span_id, name, attributes in kept:
            _ = {"span_id": span_id, "name": name, "attributes": orjson.loads(attributes)}

    return read


def _least(rounds: int, *measured: Callable[[], object]) -> list[float]:
    """Give the least CPU seconds of each, by turns: what else the machine does only adds."""
    least = [float("inf")] * len(measured)
    for _ in range(rounds):
        for place, run in enumerate(measured):
            with Stopwatch() as watch:
                run()
            least[place] = min(least[place], watch.cpu)
    return least


if __name__ == "__main__":
    sys.exit(main())
