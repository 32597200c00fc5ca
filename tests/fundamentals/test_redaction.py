"""What must not pass: secrets into the store, people's addresses to judges and sinks."""

from __future__ import annotations

from tracescore import Redaction, RedactionRule

KEY = "sk-" + "proj-abcdefghij0123456789"


def test_markers_stand_for_what_may_not_pass() -> None:
    """Equal values have equal markers, so that a judge can still follow who is who."""
    to_a_judge = Redaction().judge_redactor()

    told = to_a_judge.redact("ada@example.com wrote to bob@example.com; ada@example.com waits at +49 30 901820.")

    assert told == "[email:1] wrote to [email:2]; [email:1] waits at [phone:1]."


def test_secrets_are_not_even_stored() -> None:
    """In the store a marker is made of the value and its trace: the same at every server, in any order."""
    into_the_store = Redaction().store_redactor("trace 1")

    kept = into_the_store.redact(f"ada@example.com uses {KEY}")

    assert kept.startswith("ada@example.com uses [api_key:")
    assert kept == Redaction().store_redactor("trace 1").redact(f"ada@example.com uses {KEY}")


def test_a_policy_may_have_rules_of_its_own() -> None:
    """A rule names a kind, a pattern and its doors; `doors=` of the policy says otherwise for a door."""
    badge = RedactionRule(kind="badge", pattern="EMP-[0-9]{6}", doors=("store", "judge"))
    policy = Redaction(rules=[badge], doors={"sink": ["badge"]})

    assert policy.judge_redactor().redact("EMP-123456 is ada@example.com") == "[badge:1] is [email:1]"
    assert policy.sink_redactor().redact("EMP-123456 is ada@example.com") == "[badge:1] is ada@example.com"
