"""A stored trace and its explanation, as the API and the command line give them."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Any

from tracescore.model import Trace, run_to_json
from tracescore.pipeline.assembly import Explanation
from tracescore.pipeline.stored_trace import read_stored
from tracescore.store import Store


async def load_trace(store: Store, project: str, trace_id: str) -> Trace | None:
    """Read all that is stored of a trace; ``None`` where nothing is."""
    stored = await store.spans.load_trace(project, trace_id)
    if stored is None:
        return None
    trace, _ = await asyncio.to_thread(read_stored, stored)
    return trace


def explanation_to_json(explanation: Explanation) -> dict[str, Any]:
    """Give an explanation as JSON: the spans in the order of the tree, the runs as the command ``runs`` prints them."""
    return {
        "trace_id": explanation.trace_id,
        "spans": [
            {**asdict(span), "dialects": list(span.dialects), "read": list(span.read)} for span in explanation.spans
        ],
        "left_out": explanation.left_out,
        "runs": [run_to_json(run.run) for run in explanation.runs],
    }
