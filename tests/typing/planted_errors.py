"""Mistakes that a type checker must report, one on each line marked so; never run, checked by ``test_types.py``."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from tracescore import AgentRun, Judge, Rule, ScorerRun, ScoreValue, TraceScore, create_scorer, filter_run, scorer


class Claims(BaseModel):
    claims: list[str]


def agent_only(run: AgentRun) -> AgentRun:
    return run


agent = create_scorer(id="agent", type="agent")
done = agent.generate_score(lambda ctx: 1.0)

agent.run_sync(output="x")  # error: no score step yet
agent.preprocess(lambda ctx: 1).run_sync(output="x")  # error: no score step yet
TraceScore(scorers=[agent])  # error: no score step yet
Rule(agent)  # error: no score step yet
agent.generate_reason(lambda ctx: "why")  # error: a reason before the score
agent.analyze(lambda ctx: 1).preprocess(lambda ctx: 1)  # error: the wrong order
agent.analyze(lambda ctx: 1).analyze(lambda ctx: 1)  # error: twice
done.generate_score(lambda ctx: 1.0)  # error: twice
done.generate_reason(lambda ctx: "a").generate_reason(lambda ctx: "b")  # error: twice
agent.generate_score(lambda ctx: "high")  # error: no number
done.generate_reason(lambda ctx: 3)  # error: no text
agent.generate_score(lambda ctx: ctx.score)  # error: no score yet
agent.generate_score(lambda ctx: ctx.results.preprocess_step_result.claims)  # error: no such result
agent.preprocess(lambda ctx: 1).generate_score(lambda ctx: ctx.results.preprocess_step_result.x)  # error: an int
agent.analyze(description="d", create_prompt=lambda ctx: "p")  # error: no output_schema
agent.analyze(create_prompt=lambda ctx: "p", output_schema=Claims)  # error: no description
agent.generate_score(description="d", create_prompt=lambda ctx: "p", output_schema=Claims)  # error: no calculate_score
agent.generate_score(description="d", create_prompt=lambda ctx: 3)  # error: no text
agent.generate_reason  # error: a reason before the score, even if it is not called
agent.preprocess(lambda ctx: ctx.results.analyze_step_result.x)  # error: no such result yet
agent.preprocess(lambda: 1)  # error: takes the context
agent.generate_score(lambda run, results: 1.0)  # error: takes the context alone
agent.preprocess(3)  # error: no function
agent.generate_score(description="d", create_prompt=lambda ctx: "p", calculate_score=lambda ctx: 1.0)  # error: no output_schema
agent.generate_score(description="d", create_prompt=lambda ctx: "p", output_schema=Claims, calculate_score=lambda ctx: ctx.output.claim)  # error: no such field
agent.generate_score(description="d", create_prompt=lambda ctx: "p", output_schema=Claims, calculate_score=lambda ctx: "high")  # error: no number
agent.generate_score(lambda ctx: ctx.output)  # error: only of a prompt's own score
done.generate_reason(lambda ctx: ctx.scores)  # error: no such field
done.generate_reason(description="d", create_prompt=lambda ctx: "p", output_schema=Claims)  # error: a reason is text
agent.generate_score(lambda ctx: ctx.run.outputs)  # error: no such field
way = create_scorer(id="way", type="trajectory")
way.generate_score(lambda ctx: ctx.run.output.text)  # error: a trajectory has no text
way.generate_score(lambda ctx: ctx.run.output.steps[0].tool)  # error: no such field
create_scorer(id="x", type="trajectory", prepare_run=agent_only)  # error: takes a trajectory's run
create_scorer(id="x", type="trajectory", output_type=str)  # error: typed twice
create_scorer(id="x", type="agnt")  # error: an unknown type
create_scorer(id="x", type="agent", output_type=str)  # error: typed twice
create_scorer(id="x", type="agent", reads=["tokens"])  # error: an unknown word
create_scorer(id="x", input_type=str, output_type=int).generate_score(lambda ctx: ctx.run.output.text)  # error: an int
Judge(model=3)  # error: no model
ScoreValue(0.5)  # error: keyword only
filter_run(part_typs=["text"])  # error: no such option
Rule(done, sample_rte=0.5)  # error: no such option
done.run_sync(output="x", groundtruth="y")  # error: no such field
done.run_sync(output="x", redaction="off")  # error: no policy


@scorer  # error: no parentheses and no id
def bare(run: AgentRun) -> float:
    return 1.0


@scorer()  # error: no id
def nameless(run: AgentRun) -> float:
    return 1.0


@scorer(id="wrong")  # error: takes an agent's run
def wrong(run: int) -> float:
    return 1.0


async def many() -> None:
    await done.run_many(3)  # error: no runs
    await done.run_many(["text"])  # error: text is no run
    await done.run_many([], concurency=3)  # error: no such option
    float(await done.run_many([]))  # error: several outcomes


def custom_only(run: ScorerRun[str, str]) -> Any: ...
def takes_agent_run(run: AgentRun) -> Any: ...


takes_agent_run(ScorerRun(output="text"))  # error: no agent's run
