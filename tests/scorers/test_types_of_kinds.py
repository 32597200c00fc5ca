"""A scorer of another kind's runs states what they hold, and has it checked."""

from __future__ import annotations

from tracescore import Messages, NotScorable, ScorerRun, create_scorer
from tracescore.model import dump_run, load_any_run, text_message

ASKED = create_scorer(id="asked", input_type=Messages, output_type=Messages).generate_score(
    lambda ctx: len(ctx.run.input) / 10
)


def test_a_stored_model_call_is_its_messages() -> None:
    call = ScorerRun(
        run_id="r",
        kind="llm",
        input=Messages([text_message("system", "be brief"), text_message("user", "hi")]),
        output=Messages([text_message("assistant", "hello")]),
    )

    assert float(ASKED.run_sync(load_any_run(dump_run(call)))) == 0.2


def test_a_run_that_holds_something_else_is_not_scorable() -> None:
    result = ASKED.run_sync(ScorerRun(run_id="r", kind="tool", input={"a": 1}, output="x"))

    assert isinstance(result, NotScorable)
    assert "input" in result.reason
