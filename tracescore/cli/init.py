"""``tracescore init``: a first scoring.py to change."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tracescore.cli.options import AsJson

TEMPLATE = '''"""What is scored here, and by what. Start it: TRACESCORE_APP=scoring:app tracescore up"""

from tracescore import AgentRun, Rule, TraceScore, create_scorer, not_scorable, scorer


# The shortest scorer is a function from a run to a number between 0 and 1.
@scorer(id="brevity", description="Is the answer short enough to be read?")
def brevity(run: AgentRun) -> float:
    if not run.output.text:
        not_scorable("no answer to measure")
    return 1.0 if len(run.output.text) < 280 else 0.5


# A scorer built in steps also says why.
tools_worked = (
    create_scorer(id="tools_worked", description="Did every tool call succeed?", type="agent")
    .preprocess(lambda ctx: [call.name for call in ctx.run.output.tool_calls if call.error is not None])
    .generate_score(lambda ctx: 0.0 if ctx.results.preprocess_step_result else 1.0)
    .generate_reason(lambda ctx: f"failed: {ctx.results.preprocess_step_result}" if ctx.score < 1 else "all succeeded")
)

# A step can ask a judge instead (set OPENAI_API_KEY); a rule on it must say how often, because it costs money:
#
#     polite = create_scorer(
#         id="polite", description="Is the answer polite?", type="agent",
#         judge=Judge(model="openai/gpt-5-mini", instructions="You judge tone."),
#     ).generate_score(
#         description="Rate the tone",
#         create_prompt=lambda ctx: f"How polite is this, from 0 to 1?\\n{ctx.fenced(ctx.run.output.text)}",
#     )
#     Rule(polite, sample_rate=0.1, where={"agent": "support"})

app = TraceScore(scorers=[brevity, tools_worked], rules=[Rule(brevity), Rule(tools_worked)])
'''


def init(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where to write it.")] = Path(),
    as_json: AsJson = False,
) -> None:
    """Write a commented scoring.py to start from.

    A file that is there already stays as it is.
    """
    from tracescore.cli.screen import print_json, stop

    path = folder / "scoring.py"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(TEMPLATE)
    except FileExistsError:
        stop(f"{path} is there already and was not changed; give another folder: tracescore init FOLDER", code=2)
    except OSError as error:
        stop(f"{path} could not be written: {error.strerror}; give another folder: tracescore init FOLDER", code=2)
    if as_json:
        print_json({"path": str(path)})
    else:
        typer.echo(f"Wrote {path}. Now: TRACESCORE_APP=scoring:app tracescore up")
