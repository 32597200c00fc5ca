"""What the default rules find, what they leave, and how a rule of one's own is made."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from tracescore import ConfigurationError, Redaction, RedactionRule, TraceScore
from tracescore.redaction import sweep
from tracescore.redaction.personal_rules import is_card, is_phone

POLICY = Redaction()


def at_the_judge(text: str) -> str:
    return POLICY.judge_redactor().redact(text)


def at_the_store(text: str) -> str:
    return POLICY.store_redactor("trace").redact(text)


KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow+/IBAAKCAQEA\n-----END RSA PRIVATE KEY-----"
# Put together here, so that no scanner of this repository takes them for real ones.
SECRETS = {
    "sk-" + "proj-abcdefghij0123456789": "api_key",
    "sk-" + "ant-api03-abcdefghij0123456789": "api_key",
    "AKIA" + "IOSFODNN7EXAMPLE": "api_key",
    "AIza" + "SyA-1234567890abcdefghijklmnopqrstuv": "api_key",
    "ghp_" + "a1" * 18: "api_key",
    "github_pat_" + "a1" * 12: "api_key",
    "glpat-" + "a1" * 10: "api_key",
    "xoxb-" + "123456789-abcdef": "api_key",
    "https://hooks.slack.com/services/" + "T0000/B0000/abcdefghij": "api_key",
    "sk_live_" + "a1" * 10: "api_key",
    "hf_" + "a1" * 17: "api_key",
    "SG." + "a1" * 11 + "." + "b2" * 20: "api_key",
    "AccountKey=" + "a1" * 42 + "==": "api_key",
    "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJl": "token",
    "Authorization: Bearer " + "abc.def-0123456789": "token",
    KEY: "private_key",
    KEY[:50]: "private_key",
    "postgres://app:s3cr@t@db.example.com:5432/shop": "password",
    "redis://:hunter22@cache": "password",
    "DB_PASSWORD=hunter2hunter2": "password",
    'config = {"client_secret": "abcd-efgh"}': "api_key",
    r"{\"refresh_token\": \"abcd-efgh\"}": "token",
}


@pytest.mark.parametrize("secret", SECRETS)
def test_secrets_are_found_wherever_they_stand(secret: str) -> None:
    for around in ("{}", "key:\n{}", r"said\n{} twice", "값은{}입니다", r"\u00e9{}", "({}), then"):
        redacted = at_the_store(around.format(secret))

        assert f"[{SECRETS[secret]}:" in redacted
        assert secret not in redacted
        assert at_the_store(redacted) == redacted


@pytest.mark.parametrize(
    "harmless",
    [
        "the task-management-of-the-risk-assessment",
        "gen_ai.usage.input_tokens=1200, total_tokens: 3400",
        "https://example.com:8080/path?user=a@b",
        "password=${DB_PASSWORD}",
        'os.environ["API_KEY"]',
        '{"password": "***"}',
        "the bearer of good news is here to stay",
        "PWD=/home/ada/2026",
        "a secret: nobody knows",
        "eyJust a word.",
        "-----BEGIN PUBLIC KEY-----",
    ],
)
def test_what_only_looks_like_a_secret_stays(harmless: str) -> None:
    assert at_the_store(harmless) == harmless


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("ada@example.com, bob@x.co.uk; ada@example.com!", "[email:1], [email:2]; [email:1]!"),
        ("메일은a.b+c@example.com으로", "메일은[email:1]으로"),
        ("call +49 30 901820 or (415) 555-2671", "call [phone:1] or [phone:2]"),
        ("415-555-2671, 1-800-555-0199, 010-1234-5678", "[phone:1], [phone:2], [phone:3]"),
        ("06 12 34 56 78 and 020 7946 0958.", "[phone:1] and [phone:2]."),
        ("card 4111 1111 1111 1111, 5500005555555559", "card [card:1], [card:2]"),
        ("card 4111 1111 1111 1112", "card 4111 1111 1111 1112"),
        ("2026-11-30 18:13:18, 02-12-2024, 192.168.100.200", "2026-11-30 18:13:18, 02-12-2024, 192.168.100.200"),
        ("1701367998000000000, 3.14159265358979, v1.20.300", "1701367998000000000, 3.14159265358979, v1.20.300"),
        ("order 202-1234567-7654321, a@b, @ada, x@localhost", "order 202-1234567-7654321, a@b, @ada, x@localhost"),
        ("c0ffee-4155552671-aa 0123456789abcdef", "c0ffee-4155552671-aa 0123456789abcdef"),
        ("\ud83e ada@example.com", "\ud83e [email:1]"),
    ],
)
def test_people_are_kept_from_judges(text: str, redacted: str) -> None:
    assert at_the_judge(text) == redacted
    assert at_the_store(text) == text


@pytest.mark.parametrize(
    ("digits", "right"),
    [
        ("378282246310005", True),
        ("6011111111111117", True),
        ("30569309025904", True),
        ("3530111333300000", True),
        ("2223003122003222", True),
        ("4111111111111", False),
        ("0000000000000000", False),
        ("1234567812345670", False),
        ("55000055555555559", False),
    ],
)
def test_a_card_number_has_an_issuer_and_a_check_digit(digits: str, right: bool) -> None:
    assert is_card(digits) is right
    assert is_card(" ".join(digits[place : place + 4] for place in range(0, len(digits), 4))) is right


def test_a_phone_number_has_eight_to_fifteen_digits() -> None:
    assert [is_phone("+" + "1" * count) for count in (7, 8, 15, 16)] == [False, True, True, False]


def test_a_rule_of_ones_own_holds_at_its_doors() -> None:
    badge = RedactionRule(kind="badge", pattern=r"(?<!X)EMP-(?P<value>\d{6})", doors=("store", "sink"))
    policy = Redaction(rules=[badge])

    assert policy.sink_redactor().redact("EMP-123456 XEMP-123456") == "EMP-[badge:1] XEMP-123456"
    assert policy.judge_redactor().redact("EMP-123456") == "EMP-123456"
    assert policy.store_redactor("t").redact("EMP-123456") != "EMP-123456"
    assert Redaction(rules=[badge], defaults=False).sink_redactor().redact("a@b.com") == "a@b.com"


def test_doors_choose_their_kinds() -> None:
    policy = Redaction(doors={"store": ["email"], "sink": []})

    assert policy.store_redactor("t").redact("a@b.com sk-" + "a1" * 12) != "a@b.com sk-" + "a1" * 12
    assert "sk-" in policy.store_redactor("t").redact("sk-" + "a1" * 12)
    assert policy.sink_redactor().redact("a@b.com") == "a@b.com"
    assert policy.judge_redactor().redact("a@b.com") == "[email:1]"
    assert policy.doors["store"] == ("email",)


def test_a_policys_version_tells_policies_apart() -> None:
    badge = RedactionRule(kind="badge", pattern="EMP-[0-9]{6}", in_json=True)
    policies: list[Redaction] = [
        Redaction(),
        Redaction(defaults=False),
        Redaction(rules=[badge]),
        Redaction(doors={"sink": []}),
        Redaction(doors={"judge": []}),
    ]

    assert len({policy.version for policy in policies}) == 5
    assert Redaction().version == POLICY.version
    assert repr(POLICY) == f"Redaction(version={POLICY.version!r})"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"kind": "E-Mail", "pattern": "x"}, "give a lower-case word"),
        ({"kind": "a", "pattern": "("}, "missing"),
        ({"kind": "a", "pattern": "x*"}, "finds an empty text"),
        ({"kind": "a", "pattern": "x", "hint": "y?"}, "finds an empty text"),
        ({"kind": "a", "pattern": "x", "doors": "store"}, "give a list of doors"),
        ({"kind": "a", "pattern": "x", "doors": ["stor"]}, "did you mean 'store'"),
    ],
)
def test_a_rule_that_cannot_work_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        RedactionRule(**options)


@pytest.mark.parametrize(
    ("doors", "said"),
    [
        ({"judges": ["email"]}, "no door 'judges'; did you mean 'judge'"),
        ({"judge": ["e-mail"]}, "no kind 'e-mail'; did you mean 'email'"),
        ({"judge": "email"}, "give a list of kinds"),
    ],
)
def test_doors_that_cannot_work_are_refused(doors: Any, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        Redaction(doors=doors)


@pytest.mark.parametrize("size", [200_000])
@pytest.mark.parametrize(
    "piece",
    [
        "-eyJ",
        "-----BEGIN PRIVATE KEY-----",
        "a@",
        "://x:",
        'password":"',
        "sk-",
        "+1 2",
        "4 1 1 1 ",
        "0-123-",
        "secret=",
    ],
)
def test_no_text_takes_long(piece: str, size: int) -> None:
    """Each of these makes a careless pattern try every place of the text again and again: it would not end here."""
    text = piece * (size // len(piece))

    assert len(at_the_judge(text)) > 0
    assert len(at_the_judge(json.dumps({"text": text}))) > 0


def test_without_re2_the_same_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    text = " ".join((*SECRETS, "ada@example.com, +49 30 901820", "4111 1111 1111 1111"))
    found = POLICY.judge_redactor().redact(text)
    monkeypatch.setitem(sys.modules, "re2", None)
    sweep._re2.cache_clear()
    try:
        badge = RedactionRule(kind="badge", pattern="EMP-[0-9]{6}")
        plain = Redaction(rules=[badge])
    finally:
        sweep._re2.cache_clear()

    assert plain.judge_redactor().redact(f"{text} EMP-123456") == f"{found} [badge:1]"
    assert plain.judge_redactor().redact("nothing") == "nothing"


def test_an_app_takes_a_policy_and_nothing_else() -> None:
    given: Any = "off"

    with pytest.raises(ConfigurationError, match=r"redaction=\.\.\.\) takes a Redaction, not str"):
        TraceScore([], redaction=given)
