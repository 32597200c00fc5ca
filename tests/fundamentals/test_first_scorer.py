"""A scorer is a function from a run to a number."""

from __future__ import annotations

from tracescore import AgentRun, Score, scorer


def test_a_scorer_turns_a_run_into_a_number() -> None:
    """`@scorer` makes a scorer of a function that takes an agent's run."""

    @scorer(id="brevity")
    def brevity(run: AgentRun) -> float:
        return 1.0 if len(run.output.text) < 280 else 0.5

    score = brevity.run_sync(output="Sunny, 21 degrees.", input="What is the weather in Paris?")

    assert isinstance(score, Score)
    assert score.score == 1.0
    assert float(score) == 1.0


def test_a_scorer_is_called_by_its_id_and_its_version() -> None:
    """The version is a fingerprint of the scorer's code, so that old scores can be told from new ones."""

    @scorer(id="brevity", description="Is the answer short?")
    def brevity(run: AgentRun) -> float:
        return 1.0

    score = brevity.run_sync(output="Sunny.")

    assert brevity.id == score.scorer_id == "brevity"
    assert brevity.version == score.scorer_version
    assert brevity.version.startswith("1-")
    assert brevity.description == "Is the answer short?"


def test_a_run_has_an_input_and_an_output() -> None:
    """Text becomes messages: the input a user's, the output the assistant's."""
    seen: list[AgentRun] = []

    @scorer(id="look", version="1")
    def look(run: AgentRun) -> float:
        seen.append(run)
        return 1.0

    look.run_sync(output="Sunny.", input="What is the weather?")

    assert seen[0].input.text == "What is the weather?"
    assert seen[0].input.input_messages[0].role == "user"
    assert seen[0].output.text == "Sunny."
    assert seen[0].output[0].role == "assistant"
    assert seen[0].run_id


async def answer_with_a_scorer_inside() -> float:
    @scorer(id="constant")
    def constant(run: AgentRun) -> float:
        return 0.25

    return float(constant.run_sync(output="Sunny."))


def test_a_scorer_runs_where_a_loop_runs_already() -> None:
    """`run_sync` works in plain code, in notebooks and inside coroutines; `await scorer.run(...)` is there too."""
    from tracescore.bridge import run_sync

    assert run_sync(answer_with_a_scorer_inside()) == 0.25
