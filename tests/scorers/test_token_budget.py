"""The token budget: what goes first, what never does, and how tokens are counted."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st

from tracescore import (
    AgentInput,
    AgentOutput,
    AgentRun,
    DataPart,
    Message,
    Messages,
    ReasoningPart,
    TextPart,
    ToolInvocationPart,
    filter_run,
    text_message,
)
from tracescore.scorers import token_counts
from tracescore.scorers.filter_content import content_of
from tracescore.scorers.token_budget import final_answer, total_tokens
from tracescore.scorers.token_counts import token_counter
from tracescore.scorers.trimming import RESULT_LEFT_OUT

ESTIMATE = token_counter(None)


def called(result: Any, text: str = "") -> Message:
    call = ToolInvocationPart(name="look", arguments={"at": "it"}, result=result)
    return Message(role="assistant", parts=(call, TextPart(text=text)) if text else (call,))


RUN = AgentRun(
    run_id="run-1",
    input=AgentInput(
        input_messages=Messages([text_message("user", "question " * 5)]),
        remembered_messages=Messages(
            [text_message("user", "old " * 10), called("r" * 80), text_message("user", "new")]
        ),
        system_messages=Messages([text_message("system", "first"), text_message("system", "second")]),
        tagged_system_messages={
            "b": Messages([text_message("system", "b")]),
            "a": Messages([text_message("system", "a")]),
        },
    ),
    output=AgentOutput([called("s" * 80, text="Let me see."), called("t" * 80), called("u" * 80, text="The answer.")]),
)


def left(run: AgentRun) -> list[str]:
    """Say in short what is there: messages by a word of theirs, results by their letter."""
    said: list[str] = []
    for (group, tag), messages in content_of(run).items():
        for message in messages:
            results = "".join(
                "-" if call.result == RESULT_LEFT_OUT else str(call.result)[0] for call in message.tool_calls
            )
            said.append(f"{group[0]}{tag}:{message.content.split(' ')[0]}{results}")
    return said


def test_cuts_come_in_the_stated_order() -> None:
    """The budget shrinks by one token at a time; each new cut is the next of the order."""
    steps: list[list[str]] = [left(RUN)]
    for limit in range(total_tokens(content_of(RUN), ESTIMATE), -1, -1):
        if (now := left(filter_run(max_tokens=limit, encoding=None)(RUN))) != steps[-1]:
            steps.append(now)
    gone = [[item for item in before if item not in after] for before, after in pairwise(steps)]

    assert gone == [
        ["r:r"],
        ["o:Lets"],
        ["o:t"],
        ["o:Theu"],
        ["r:old"],
        ["r:-"],
        ["r:new"],
        ["o:Let-"],
        ["o:-"],
        ["o:The-"],
        ["ta:a"],
        ["tb:b"],
        ["s:second"],
        ["s:first"],
    ]
    assert steps[-1] == ["i:question", "o:The"]


def test_a_result_that_is_shorter_than_what_would_stand_for_it_stays() -> None:
    run = AgentRun(
        input=AgentInput(remembered_messages=Messages([text_message("user", "old " * 10)])),
        output=AgentOutput([called("ok"), text_message("assistant", "word " * 50)]),
    )

    assert left(filter_run(max_tokens=80, encoding=None)(run)) == ["o:o", "o:word"]


def test_a_structured_answer_is_an_answer() -> None:
    final = Message(role="assistant", parts=(ReasoningPart(text="hm " * 30), DataPart(data={"city": "Rome"})))
    run = AgentRun(output=AgentOutput([text_message("assistant", "I found it."), called("x" * 90), final]))

    assert filter_run(max_tokens=0)(run).output == AgentOutput(
        [text_message("assistant", "I found it."), Message(role="assistant", parts=(DataPart(data={"city": "Rome"}),))]
    )


texts = st.text(alphabet="ab é나", max_size=30)
parts = st.one_of(
    texts.map(lambda text: TextPart(text=text)),
    texts.map(lambda text: ReasoningPart(text=text)),
    st.builds(ToolInvocationPart, name=st.sampled_from(["read", "write"]), result=st.none() | texts | st.lists(texts)),
    texts.map(lambda text: DataPart(data={"v": text})),
)


def messages(*roles: Any) -> Any:
    made = st.builds(Message, role=st.sampled_from(roles), parts=st.lists(parts, max_size=3).map(tuple))
    return st.lists(made, max_size=4)


def run_of(given: Any, before: Any, system: Any, tagged: Any, output: Any) -> AgentRun:
    return AgentRun(
        run_id="r",
        input=AgentInput(
            input_messages=Messages(given),
            remembered_messages=Messages(before),
            system_messages=Messages(system),
            tagged_system_messages={"t": Messages(tagged)},
        ),
        output=AgentOutput(output),
    )


runs = st.builds(
    run_of,
    messages("user"),
    messages("user", "assistant"),
    messages("system"),
    messages("system"),
    messages("assistant"),
)


@settings(max_examples=60)
@given(run=runs, limit=st.integers(0, 200))
def test_the_budget_is_kept_and_never_costs_the_input_or_the_answer(run: AgentRun, limit: int) -> None:
    cut = filter_run(max_tokens=limit, encoding=None)(run)
    answer = [part for parts in final_answer(run.output).values() for part in parts]
    bare = AgentRun(
        input=AgentInput(input_messages=run.input.input_messages),
        output=AgentOutput(Message(role="assistant", parts=parts) for parts in final_answer(run.output).values()),
    )

    assert cut.input.input_messages == run.input.input_messages
    assert cut.output.text == run.output.text
    assert [part for parts in final_answer(cut.output).values() for part in parts] == answer
    assert total_tokens(content_of(cut), ESTIMATE) <= max(limit, total_tokens(content_of(bare), ESTIMATE))


options_of_a_filter = st.fixed_dictionaries(
    {},
    optional={
        "part_types": st.lists(st.sampled_from(["text", "tool", "data", "reasoning"])),
        "tool_names": st.lists(st.sampled_from(["write", "re", "x"])),
        "max_remembered_messages": st.integers(0, 4),
        "max_output_messages": st.integers(0, 4),
        "keep_roles": st.lists(st.sampled_from(["user", "assistant"])),
        "drop_groups": st.lists(st.sampled_from(["system", "remembered"])),
        "keep_parts": st.lists(st.sampled_from(["text", "tool", "data"]), min_size=1),
        "drop_parts": st.lists(st.sampled_from(["reasoning", "data"])),
        "drop_tool_results": st.booleans(),
        "max_result_chars": st.integers(0, 40),
        "max_text_chars": st.integers(0, 40),
        "max_remembered_turns": st.integers(0, 3),
        "max_tokens": st.integers(0, 150),
    },
)


def roles_in_order(run: AgentRun) -> Iterator[tuple[Any, ...]]:
    for key, items in content_of(run).items():
        yield (*key, [(message.role, [part.type for part in message.parts]) for message in items])


@given(run=runs, options=options_of_a_filter)
def test_filtering_again_changes_nothing_and_keeps_the_order(run: AgentRun, options: dict[str, Any]) -> None:
    keep = filter_run(**options, encoding=None)

    once = keep(run)

    assert keep(once) == once
    before = {key[:2]: key[2] for key in roles_in_order(run)}
    for group, tag, left_over in roles_in_order(once):
        remaining = iter(before[group, tag])
        assert all(
            any(role == other and is_within(types, others) for other, others in remaining) for role, types in left_over
        )


def is_within(types: list[str], others: list[str]) -> bool:
    remaining = iter(others)
    return all(kind in remaining for kind in types)


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("abcd", 1), ("abcde", 2), ("안녕하세요", 4), ("\ud83e", 1)])
def test_the_estimate_is_four_bytes_a_token(text: str, tokens: int) -> None:
    assert ESTIMATE.count(text) == tokens


@pytest.fixture
def _no_vocabulary_is_known() -> Iterator[None]:
    token_counts._at_hand.cache_clear()
    yield
    token_counts._at_hand.cache_clear()


@pytest.mark.usefixtures("_no_vocabulary_is_known")
@pytest.mark.parametrize("cached", [None, b"not the vocabulary"])
def test_a_vocabulary_that_is_not_at_hand_is_never_fetched(
    cached: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("tiktoken.load.read_file", asked.append)
    url, _ = token_counts.ENCODINGS["o200k_base"]
    if cached is not None:
        (tmp_path / hashlib.sha1(url.encode()).hexdigest()).write_bytes(cached)

    run = filter_run(max_tokens=0)(RUN)

    assert ({cut.counted_by for cut in run.cuts}, asked) == ({"estimate"}, [])


@pytest.mark.usefixtures("_no_vocabulary_is_known")
def test_a_vocabulary_in_tiktokens_cache_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A vocabulary of bytes and one word stands for the real one, which is 3.6 MB."""
    words = [*(bytes([byte]) for byte in range(256)), b"qu", b"que", b"ques"]
    vocabulary = b"".join(base64.b64encode(word) + b" %d\n" % rank for rank, word in enumerate(words))
    url, _ = token_counts.ENCODINGS["o200k_base"]
    monkeypatch.setitem(token_counts.ENCODINGS, "o200k_base", (url, hashlib.sha256(vocabulary).hexdigest()))
    (tmp_path / hashlib.sha1(url.encode()).hexdigest()).write_bytes(vocabulary)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    small = tiktoken.Encoding(
        "small", pat_str=r"\S+|\s+", mergeable_ranks={word: rank for rank, word in enumerate(words)}, special_tokens={}
    )
    monkeypatch.setattr(tiktoken, "get_encoding", {"o200k_base": small}.__getitem__)

    counter = token_counter("o200k_base")

    assert (counter.name, counter.count("quest"), counter.count("x" * 10_000)) == ("o200k_base", 2, 10_000)
    assert {cut.counted_by for cut in filter_run(max_tokens=10)(RUN).cuts} == {"o200k_base"}
    assert replace(counter, name=token_counter("cl100k_base").name).name == "estimate"
