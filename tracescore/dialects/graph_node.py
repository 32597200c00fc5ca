"""Agents among the spans of LangChain and LangGraph: instrumentations guess them from "agent" in a span's name."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tracescore.dialects.form import SpanRole
from tracescore.dialects.values import first_text
from tracescore.model import JSONValue

_TOOLS = "tools"
"""How a prebuilt agent calls the node that runs its tools; a graph inside it is an agent that a tool asks."""


_PLUMBING = re.compile(r"Runnable\w*<.*>|\w*(?:OutputParser|PromptTemplate)")
"""What fills a prompt or reads an answer, though "agent" be in its name: ``RunnableAssign<agent_scratchpad>``."""


def is_plumbing(name: str) -> bool:
    """Tell a part of a chain that no agent can be."""
    return _PLUMBING.fullmatch(name) is not None


def role_in_graph(name: str, metadata: Mapping[str, JSONValue] | None) -> SpanRole:
    """Tell an agent from a node that only goes by such a name.

    A turn of a prebuilt agent, or a function inside a node, is a step; an agent inside a node goes by the node's name.
    """
    if is_plumbing(name):
        return "step"
    node = first_text(metadata, ("langgraph_node",))
    if node is None or node == _TOOLS or first_text(metadata, ("lc_agent_name",)) is not None:
        return "agent"
    return "step" if node == "agent" or name != node else "agent"
