"""Mistakes that a type checker must report, one on each line marked so; never run, checked by ``test_types.py``."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from tracescore import AgentRun, Judge, Rule, ScorerRun, ScoreValue, TraceScore, create_scorer, filter_run, scorer


class Claims(BaseModel):
    claims: list[str]


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
create_scorer(id="x", type="agnt")  # error: an unknown type
create_scorer(id="x", type="agent", output_type=str)  # error: typed twice
create_scorer(id="x", type="agent", reads=["tokens"])  # error: an unknown word
create_scorer(id="x", input_type=str, output_type=int).generate_score(lambda ctx: ctx.run.output.text)  # error: an int
Judge(model=3)  # error: no model
ScoreValue(0.5)  # error: keyword only
filter_run(part_typs=["text"])  # error: no such option
Rule(done, sample_rte=0.5)  # error: no such option
done.run_sync(output="x", groundtruth="y")  # error: no such field


@scorer(id="wrong")  # error: takes an agent's run
def wrong(run: int) -> float:
    return 1.0


def custom_only(run: ScorerRun[str, str]) -> Any: ...
def takes_agent_run(run: AgentRun) -> Any: ...


takes_agent_run(ScorerRun(output="text"))  # error: no agent's run
