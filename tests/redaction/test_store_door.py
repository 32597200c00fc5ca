"""What comes in is redacted before it is stored: the same bytes in any encoding and order, ids as they were."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from tests.otel.requests import SPAN_ID, TRACE_ID, as_json, as_protobuf, attributes, log, logs, span, traces
from tests.redaction.policies import KEY, OTHER_KEY, RAISING
from tracescore import Redaction, RedactionError, RedactionRule
from tracescore.otel import JSON, PROTOBUF, decode_logs, decode_traces, read_log, read_span
from tracescore.pipeline.redacting import redacted_rows

POLICY = Redaction()
MESSAGES = json.dumps([{"role": "user", "parts": [{"type": "text", "content": f'Use "{KEY}"\n{OTHER_KEY}'}]}])


def stored(*spans: dict[str, Any], policy: Redaction = POLICY, **options: Any) -> list[Any]:
    """Decode spans both ways, see that it makes no difference, and give the rows."""
    request = traces(*spans, **options)
    rows = redacted_rows(decode_traces(as_json(request), JSON), policy).rows

    assert redacted_rows(decode_traces(as_protobuf(request), PROTOBUF), policy).rows == rows
    return rows


def test_secrets_do_not_pass_and_ids_do() -> None:
    secret = {"gen_ai.input.messages": MESSAGES, "tool.args": {"password": "hunter2", "n": 4111111111111111}}
    sent = span(
        secret,
        status={"message": f"401 for {KEY}", "code": 2},
        events=[
            {"name": "exception", "timeUnixNano": "5", "attributes": span({"exception.message": KEY})["attributes"]}
        ],
        links=[{"traceId": TRACE_ID, "spanId": SPAN_ID, "attributes": attributes({"key": OTHER_KEY})}],
    )
    [row] = stored(sent, resource={"service.name": "shop", "http.authorization": ["Basic YWRhOmx1Y3k="]})
    [plain] = decode_traces(as_json(traces(sent)), JSON).rows
    found = read_span([row.body])
    first, second = (POLICY.store_redactor(TRACE_ID).redact(key) for key in (KEY, OTHER_KEY))

    assert (row[:2], row[3:8]) == (plain[:2], plain[3:8])
    assert row.copy_hash != plain.copy_hash
    assert (found.trace_id, found.span_id, found.start_ns) == (TRACE_ID, SPAN_ID, 1796045057675237501)
    assert json.loads(str(found.attributes["gen_ai.input.messages"])) == [
        {"role": "user", "parts": [{"type": "text", "content": f'Use "{first}"\n{second}'}]}
    ]
    assert found.status_message == f"401 for {first}"
    assert found.events[0].attributes == {"exception.message": first}
    assert (found.links[0].trace_id, found.links[0].attributes) == (TRACE_ID, {"key": second})
    arguments: Any = found.attributes["tool.args"]
    assert (arguments["password"][:10], arguments["n"]) == ("[password:", 4111111111111111)
    authorization: Any = found.resource["http.authorization"]
    assert authorization[0].startswith("[token:")


def test_a_span_without_secrets_is_stored_as_it_came() -> None:
    request = as_json(traces(span({"text": "ada@example.com said task-list", "url": "https://example.com"})))

    assert redacted_rows(decode_traces(request, JSON), POLICY).rows == decode_traces(request, JSON).rows


def test_a_secret_is_found_among_many_spans_and_costs_none_of_them() -> None:
    texts = ["all is well"] * 70 + [f"Use {KEY}"] + ["and further"] * 70
    spans = [span({"text": text}, spanId=f"{place + 1:016x}") for place, text in enumerate(texts)]
    came = decode_traces(as_json(traces(*spans)), JSON).rows
    kept = stored(*spans)

    assert [place for place, row in enumerate(kept) if row != came[place]] == [70]
    assert KEY.encode() not in kept[70].body


def test_a_secret_has_one_marker_in_a_trace_and_another_in_the_next() -> None:
    other = "1" * 32
    rows = stored(
        span({"a": f"x {KEY}"}), span({"b": f"{KEY} y"}, spanId="1" * 16), span({"a": f"x {KEY}"}, traceId=other)
    )
    [first, second, third] = [next(iter(read_span([row.body]).attributes.values())) for row in rows]

    assert str(first).removeprefix("x ") == str(second).removesuffix(" y")
    assert first != third


def test_the_copies_of_a_span_fold_to_the_same_in_any_order() -> None:
    sent = [span({"a": KEY}, endTimeUnixNano="0"), span({"a": KEY, "b": OTHER_KEY}), span({"c": MESSAGES})]
    copies = [row.body for row in stored(*sent)]
    folded = read_span(copies)
    again = [row.body for row in stored(*reversed(sent))]
    random.Random(1).shuffle(again)

    assert read_span(again) == folded
    assert redacted_rows(decode_traces(as_json(traces(*sent)), JSON), POLICY).rows == stored(*sent)
    assert KEY not in repr(folded)


def test_log_records_go_through_the_same_door() -> None:
    request = logs(log({"content": f"the key is {KEY}"}))
    rows = [
        redacted_rows(decode_logs(body, kind), POLICY).rows
        for body, kind in ((as_json(request), JSON), (as_protobuf(request), PROTOBUF))
    ]
    body: Any = read_log(rows[0][0].body).body

    assert rows[0] == rows[1]
    assert body == {"content": f"the key is {POLICY.store_redactor(TRACE_ID).redact(KEY)}"}


def test_a_rule_for_texts_reads_each_span() -> None:
    """Its pattern sees the texts themselves, not the JSON in which a line end is written otherwise."""
    line = RedactionRule(kind="line", pattern=r"(?m)^secret line$", doors=("store",))
    policy = Redaction(rules=[line], defaults=False)
    [row, other] = stored(span({"a": "first\nsecret line\nlast"}), span({"a": "no secret line"}), policy=policy)

    assert read_span([row.body]).attributes["a"] == (
        f"first\n{policy.store_redactor(TRACE_ID).redact('secret line')}\nlast"
    )
    assert read_span([other.body]).attributes["a"] == "no secret line"


def test_keys_of_maps_are_texts_too() -> None:
    [row] = stored(span({"a": {KEY: 1, "b": [KEY]}}))
    marker = POLICY.store_redactor(TRACE_ID).redact(KEY)

    assert read_span([row.body]).attributes == {"a": {marker: 1, "b": [marker]}}


def test_an_open_door_changes_nothing() -> None:
    request = as_json(traces(span({"a": KEY})))

    for policy in (None, Redaction(defaults=False), Redaction(doors={"store": []})):
        assert redacted_rows(decode_traces(request, JSON), policy) == decode_traces(request, JSON)


def test_a_rule_that_raises_stops_the_request_and_names_no_text() -> None:
    with pytest.raises(RedactionError, match=r"^redaction rule 'odd' raised ValueError$") as raised:
        stored(span({"a": "an oddity here"}), policy=RAISING)

    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__
    assert len(stored(span({"a": "nothing odd"}), policy=RAISING)) == 1
