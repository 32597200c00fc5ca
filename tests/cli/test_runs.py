"""``tracescore runs`` over a store that holds runs of every kind."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import InProcess
from tracescore.bridge import run_sync
from tracescore.model import AgentRun, Messages, ScorerRun, Target, text_message
from tracescore.pipeline.run_records import run_record
from tracescore.store import Store

TRACE = "1" * 32
RUNS = (
    AgentRun(run_id="a" * 32, agent_name="helper", target=Target(trace_id=TRACE, span_id="1" * 16)),
    ScorerRun(
        run_id="b" * 32,
        kind="tool",
        name="look_up",
        input={"city": "Paris"},
        output="18 degrees",
        target=Target(trace_id=TRACE, span_id="2" * 16),
    ),
    ScorerRun(
        run_id="c" * 32,
        kind="llm",
        input=Messages([text_message("user", "how warm?")]),
        output=Messages([text_message("assistant", "mild")]),
        target=Target(trace_id=TRACE, span_id="3" * 16),
    ),
)


def test_runs_of_every_kind_are_shown(in_process: InProcess, tmp_path: Path) -> None:
    with Store.open(tmp_path / "store") as store:
        records = [run_record(run, first_arrival_ns=1) for run in RUNS]
        run_sync(store.runs.replace_runs("default", TRACE, 1, records))
    shown = in_process("runs", "--data", tmp_path / "store").out
    fewer = in_process("runs", "--data", tmp_path / "store", "--limit", "2", "--json")
    (tool,) = in_process("runs", "--data", tmp_path / "store", "--kind", "tool", "--json").json

    for words in ("look_up", '{"city":"Paris"}', "18 degrees", "user: how warm?", "assistant: mild", "helper"):
        assert words in shown
    assert len(fewer.json) == 2
    assert fewer.err == "tracescore: only the newest 2 are shown; --limit N shows up to 1000\n"
    assert (tool["name"], tool["input"], tool["output"]) == ("look_up", {"city": "Paris"}, "18 degrees")
