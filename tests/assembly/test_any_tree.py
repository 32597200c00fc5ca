"""Whatever the tree looks like: no error, one order, runs that make a forest."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TypeAlias

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.assembly.building import agent, asks, llm, returns, says, span, tool, trace
from tracescore.model import Span, dump_run
from tracescore.pipeline.assembly import assemble

ASK = [says("user", "q")]
NAMES = [f"n{number}" for number in range(9)]


Row: TypeAlias = tuple[str, str | None, int, int, int]


def node(kind: str, name: str, parent: str | None, at: int, until: int) -> Span:
    match kind:
        case "agent":
            return agent(name, called="bot", parent=parent, at=at, until=until)
        case "named":
            stated = {"graph.node.parent_id": "n0"}
            return agent(name, called=name, attributes=stated, parent=parent, at=at, until=until)
        case "asking":
            return llm(name, given=ASK, answer=asks("transfer_to_bot"), parent=parent, at=at, until=until)
        case "answering":
            told = [*ASK, asks("look"), returns("x")]
            return llm(name, given=told, answer=says("assistant", "a"), parent=parent, at=at, until=until)
        case "silent":
            return llm(name, parent=parent, at=at, until=until)
        case "tool":
            return tool(name, called="transfer_to_bot" if at % 2 else "look", parent=parent, at=at, until=until)
        case _:
            return span(name, parent=parent, at=at, until=until)


SPANS = st.lists(
    st.tuples(
        st.sampled_from(["agent", "named", "asking", "answering", "silent", "tool", "plain"]),
        st.sampled_from([*NAMES, "lost", None]),
        st.integers(0, 6),
        st.integers(0, 9),
        st.sampled_from([0, 0x100, 0x300]),
    ),
    max_size=len(NAMES),
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(rows=SPANS, seed=st.integers(0, 99))
def test_any_tree_gives_the_same_forest_in_any_order(rows: list[Row], seed: int) -> None:
    spans = [
        replace(node(kind, NAMES[place], parent, at, until), flags=flags)
        for place, (kind, parent, at, until, flags) in enumerate(rows)
    ]
    shuffled = random.Random(seed).sample(spans, len(spans))

    one, other = assemble(trace(*spans)), assemble(trace(*shuffled))
    parents = {found.run.run_id: found.run.parent_run_id for found in one}
    counted = sum(found.run.usage.output or 0 for found in one)

    assert [dump_run(found.run) for found in one] == [dump_run(found.run) for found in other]
    assert len(parents) == len(one)
    assert all((found.run.parent_run_id is None) == found.run.outermost for found in one)
    assert counted <= 2 * sum("gen_ai.usage.output_tokens" in one.attributes for one in spans)
    for run_id in parents:
        seen: set[str] = set()
        above: str | None = run_id
        while above is not None:
            assert above in parents
            assert above not in seen
            seen.add(above)
            above = parents[above]
