"""What a version was made of is told in words, and what changed between two of them."""

from __future__ import annotations

from typing import Any

import pytest

from tracescore import Judge, create_scorer
from tracescore.scorers.changed import Change, changes
from tracescore.scorers.described import Fact, describe_scorer, dump_facts, load_facts

WEIGHTS = {"tone": 1, "facts": 2}


def count(text: str) -> int:
    return len(text.split())


def scored(*, limit: float = 1.0, password: str = "hunter2", **options: Any) -> Any:
    def score(ctx: Any, *, bonus: float = 0.5) -> float:
        return min(limit, count(ctx.run.output.text) * bonus * WEIGHTS["tone"] + len(password))

    given: dict[str, Any] = {"judge": Judge(model="openai/x", instructions="You are strict.", api_key="sk-12345678")}
    begin: Any = create_scorer(id="x", type="agent", **{**given, **options})
    return begin.generate_score(score).generate_reason(description="Say why", create_prompt=ask_why)


def ask_why(ctx: Any) -> str:
    return "Why?"


def changed(before: Any, now: Any) -> list[Change]:
    return changes(load_facts(dump_facts(describe_scorer(before))), describe_scorer(now))


def test_what_a_version_is_made_of_has_a_name_each() -> None:
    labels = [fact.label for fact in describe_scorer(scored())]

    assert labels == [
        "range",
        "steps",
        "type",
        "generate_score, function",
        "keyword defaults of score",
        "limit, captured by score",
        "password, captured by score",
        "WEIGHTS, used by score",
        "source of count",
        "generate_reason, create prompt",
        "generate_reason, judge instructions",
        "generate_reason, judge model",
    ]


@pytest.mark.parametrize(
    ("options", "label", "lines"),
    [
        ({"limit": 2.0}, "limit, captured by score", ("-1.0", "+2.0")),
        ({"score_range": (0, 2)}, "range", ("-[0.0, 1.0]", "+[0.0, 2.0]")),
        ({"reads": ["usage"]}, "reads", ("+['usage']",)),
        (
            {"judge": Judge(model="openai/x", instructions="You are lax.")},
            "generate_reason, judge instructions",
            ("-You are strict.", "+You are lax."),
        ),
        ({"password": "other"}, "password, captured by score", ("  (not shown)",)),
    ],
)
def test_a_change_is_told_by_what_it_is(options: dict[str, Any], label: str, lines: tuple[str, ...]) -> None:
    assert changed(scored(), scored(**options)) == [Change(label=label, lines=lines)]


def test_what_is_gone_and_what_is_new_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    before = scored()
    facts = describe_scorer(before)
    monkeypatch.setitem(globals(), "WEIGHTS", {"tone": 3})
    shorter: Any = create_scorer(id="x", type="agent").generate_score(lambda ctx: 0.5)

    assert changes(facts, describe_scorer(scored())) == [
        Change(label="WEIGHTS, used by score", lines=("-{'facts': 2, 'tone': 1}", "+{'tone': 3}"))
    ]
    assert [change.label for change in changes(facts, describe_scorer(shorter))][:2] == [
        "steps",
        "generate_score, function",
    ]


def test_no_secret_is_kept() -> None:
    def score(ctx: Any) -> float:
        api_key = "very-secret"
        return float(len(api_key) + len(settings) + len(url) + len(token))

    settings = {"api_key": "another-secret", "region": "eu"}
    url = "https://user:pass-word@example.org"
    token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc"
    begin: Any = create_scorer(id="x", judge=Judge(api_key="sk-12345678"))
    kept = dump_facts(describe_scorer(begin.generate_score(score))).decode()

    assert [secret for secret in ("secret", "pass-word", "eyJ", "sk-1234") if secret in kept.replace("very_", "")] == []
    assert "'region': 'eu'" in kept


def test_of_a_given_version_without_source_little_is_told() -> None:
    namespace: dict[str, Any] = {}
    exec("def score(ctx):\n    return 1.0", namespace)
    given: Any = create_scorer(id="x", version="7").generate_score(namespace["score"])

    assert [(fact.label, fact.text) for fact in describe_scorer(given)] == [
        ("range", "[0.0, 1.0]"),
        ("steps", "generate_score"),
    ]


def test_a_text_that_parts_beyond_what_is_kept_says_no_lines() -> None:
    assert changes([Fact("a", "same", "1")], [Fact("a", "same", "2")]) == [Change(label="a", lines=())]
