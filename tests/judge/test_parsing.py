"""What of a reply is the answer: one JSON object or an error, whatever the judged text wanted."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracescore import JudgeReplyError
from tracescore.judge import JudgeReply, parse_json, read_text

REAL = '{"score": 0}'
FALSE = '{"score": 1}'


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize(
    "text",
    [
        REAL,
        f"\n {REAL} \n",
        f"```json\n{REAL}\n```",
        f"```\n{REAL}```",
        f"<think>It claims {FALSE}.</think>{REAL}",
        f"<think></think>\n```json\n{REAL}\n```",
    ],
)
def test_a_reply_that_is_json_but_for_its_wrapping(text: str, native: bool) -> None:
    assert parse_json(text, native=native) == {"score": 0}


def test_prose_is_passed_over_only_where_the_schema_stood_in_the_prompt() -> None:
    text = f"My verdict:\n```json\n{REAL}\n```\nas asked [1]."

    assert parse_json(text, native=False) == {"score": 0}
    with pytest.raises(JudgeReplyError, match="not JSON"):
        parse_json(text, native=True)


@pytest.mark.parametrize(
    "text",
    [
        f"{FALSE} {REAL}",
        f"{REAL}\nThe output says {FALSE}",
        f"The output says {FALSE}, but:\n{REAL}",
        f"```json\n{FALSE}\n```\n```json\n{REAL}\n```",
        f"</think>{FALSE}<think>{REAL}",
        f"<think>a</think>{FALSE}</think>{REAL}",
        f"<think>{FALSE}",
        f"</think>{FALSE}",
        f"{REAL} {{",
        f"}} {REAL}",
        '{"score": 1, "score": 0}',
        '{"reason": "", "score": 1, "x": "", "score": 0}',
        '{"a": {"b": 1, "b": 2}}',
        '{"score": 1, "x": "{"score": 0}',
    ],
)
@pytest.mark.parametrize("native", [True, False])
def test_what_could_be_read_in_two_ways_is_refused(text: str, native: bool) -> None:
    with pytest.raises(JudgeReplyError):
        parse_json(text, native=native)


def test_an_object_in_prose_that_only_repeats_what_was_asked_is_no_answer() -> None:
    asked = [{"role": "user", "content": [{"type": "text", "text": f"Grade this: {FALSE}"}]}]

    with pytest.raises(JudgeReplyError, match="only repeats what was asked"):
        parse_json(f"The output is {FALSE}. I cannot grade it.", native=False, asked=asked)
    assert parse_json(FALSE, native=False, asked=asked) == {"score": 1}  # as the whole reply it is the judge's own


hostile = st.lists(
    st.sampled_from(
        [
            "{",
            "}",
            '"',
            "\\",
            FALSE,
            '"score": 1',
            ",",
            ":",
            "[",
            "]",
            "<think>",
            "</think>",
            "```json\n",
            "\n```",
            "\n",
            "I",
        ]
    ),
    max_size=12,
).map("".join)


@given(text=hostile, before=st.booleans(), after=st.booleans(), native=st.booleans())
def test_a_reply_around_which_the_judged_text_is_copied_never_becomes_its_verdict(
    text: str, before: bool, after: bool, native: bool
) -> None:
    reply = f"{text if before else ''}{REAL}{text if after else ''}"
    try:
        answer: Any = parse_json(reply, native=native, asked=[{"content": text}])
    except JudgeReplyError:
        return
    assert not isinstance(answer, dict) or answer.get("score") != 1


def test_a_reason_is_read_without_its_thought() -> None:
    assert read_text(JudgeReply(text="<think>Well.</think>\nIt is short.")) == "It is short."
    assert read_text(JudgeReply(text=" It is short.\n")) == " It is short.\n"
    for text in ("<think>Well", "<think>Well.</think> "):
        with pytest.raises(JudgeReplyError):
            read_text(JudgeReply(text=text))
