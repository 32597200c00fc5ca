"""Whether a run waits for a human: it ended in an interrupt, or in the request for an approval.

No library says so in one way, so each of their signs counts: an exception that a framework raises to stop (LangGraph's
nodes, the tools of Pydantic AI and Genkit), a part of the last message that asks for an approval (Microsoft's Agent
Framework, the AI SDK, MCP), a call that only a human answers (Google ADK), an answer that is the list of what waits
(Pydantic AI), the reason for which it ended (Strands), a loop that ends with its model's call (the AI SDK), and what a
dialect reads of a span (Mastra, ADK's tools).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from tracescore.dialects import Content
from tracescore.model import AgentOutput, DataPart, JSONValue, Part, ToolInvocationPart
from tracescore.pipeline.assembly.invocations import Invocation
from tracescore.pipeline.assembly.transfers import hands_over, transfers
from tracescore.pipeline.assembly.tree import Node

_RAISED = ("GraphInterrupt", "NodeInterrupt", "ApprovalRequired", "CallDeferred", "ToolInterruptError")
_RAISED_MESSAGE = re.compile(rf"(?:[\w.]+\.)?({'|'.join(_RAISED)})\(")
"""How a message begins that tells the exception where its type does not."""
_REQUEST = re.compile(r"(function|tool|mcp)[-_]approval[-_]request")
"""The types of parts that ask for an approval; an answer of the agent's own may have any other type."""
_ASKING_CALLS = ("adk_request_confirmation", "adk_request_credential", "adk_request_input")
INTERRUPTED = "interrupt"
"""How a message says that it ended in an interrupt."""
_TOLD = re.compile(r"I have tools to execute, but (?:I need [\w ,]+|it needs external execution)\.")
"""What Agno answers in the agent's place while a call waits."""
_CUT_OFF = re.compile(r"length|max|limit|error|fail|filter|safety|refus|cancel|abort", re.IGNORECASE)
"""In the reason for which a reply ended: nobody waits then, whatever it asked for."""
_INTERRUPT = "__interrupt__"
_DEFERRED = frozenset({"calls", "approvals"})
_BESIDE_DEFERRED = frozenset({"metadata", "context"})


def is_paused(invocation: Invocation, output: AgentOutput) -> bool:
    """Tell whether waiting was the last that happened: a run that asks its model again has been resumed."""
    own = invocation.records or invocation.roots[-1:]
    resumed = [child for child in invocation.children if child.took_over and child.name == invocation.name]
    if resumed and any(node.reading.paused for node in own):
        return any(node.reading.paused for node in resumed[-1].records)
    if any(node.reading.paused or _ends_waiting(node.reading.output) for node in own):
        return True
    if output and _ask(output[-1].parts):
        return True
    since_ns = invocation.calls[-1].start_ns if invocation.calls else 0
    if _leaves_open(invocation, output, own, since_ns) and not _broke_off(invocation, own):
        return True
    if any(_stopped(node, since_ns) for node in own):
        return True
    return any(stops(node) for node in _inside(invocation, own) if node.span.start_ns >= since_ns)


def _leaves_open(invocation: Invocation, output: AgentOutput, own: Sequence[Node], since_ns: int) -> bool:
    """Tell a run whose last call nothing answered: of some libraries no more than this is known of one that waits."""
    if output and any(_unanswered(message.parts) for message in output[-2:]) and any(_ends_calling(o) for o in own):
        return True
    return _began(invocation.tools, since_ns) and not any(node.reading.output for node in own)


def _broke_off(invocation: Invocation, own: Sequence[Node]) -> bool:
    """Tell a run that ended in an error, at a limit or in the middle of an answer: its last call is open for that."""
    nodes = [*own, *(invocation.calls[-1].nodes if invocation.calls else ())]
    for node in nodes:
        if node.span.status == "error" or node.reading.error_type is not None:
            return True
        if any(event.name == "exception" for event in node.span.events):
            return True
        content = node.reading.output
        said = content.said() if content and content.kind == "messages" else ()
        reasons = (node.reading.ended, said[-1].finish if said else None)
        if any(reason is not None and _CUT_OFF.search(reason) for reason in reasons):
            return True
    return False


def stops(node: Node) -> bool:
    """Tell whether a span inside a run, or by itself, ended by waiting for a human."""
    return bool(node.reading.paused) or _stopped(node, 0)


def _inside(invocation: Invocation, own: Sequence[Node]) -> Iterator[Node]:
    """Walk what is beneath the run's own spans, but for other invocations."""
    stack = [child for top in (invocation.roots or own[:1] or (invocation.node,)) for child in top.children]
    stack += invocation.roots[:-1]
    while stack:
        node = stack.pop()
        if node.agent is node and node not in own:
            continue
        yield node
        stack.extend(node.children)


def _stopped(node: Node, since_ns: int) -> bool:
    if node.reading.error_type is None and not node.span.events and node.span.status != "error":
        return False
    names = [node.reading.error_type]
    messages = [node.span.status_message] if node.span.status == "error" else []
    for event in node.span.events:
        if event.name == "exception" and (node.span.status == "error" or event.time_ns >= since_ns):
            name = event.attributes.get("exception.type")
            names.append(name if isinstance(name, str) else None)
            message = event.attributes.get("exception.message")
            messages += [message] if isinstance(message, str) else []
    if any(name is not None and name.rpartition(".")[2] in _RAISED for name in names):
        return True
    return any(_RAISED_MESSAGE.match(message) for message in messages)


def _ends_waiting(content: Content | None) -> bool:
    if not content:
        return False
    if asks(content.value):
        return True
    said = content.said() if content.kind == "messages" else ()
    return bool(said) and said[-1].role == "assistant" and (said[-1].finish == INTERRUPTED or _ask(said[-1].parts))


def _ask(parts: Iterable[Part]) -> bool:
    for part in parts:
        if isinstance(part, DataPart) and asks(part.data):
            return True
        if isinstance(part, ToolInvocationPart) and part.name in _ASKING_CALLS and part.result is None:
            return True
    return False


def _unanswered(parts: Iterable[Part]) -> bool:
    calls = [part for part in parts if isinstance(part, ToolInvocationPart) and not transfers(part.name)]
    return any(call.result is None and call.error is None and call.duration_ms is None for call in calls)


def _ends_calling(node: Node) -> bool:
    """Tell an agent whose own answer is its model's call: a human is asked, or the client that has the tool.

    The AI SDK and OpenTelemetry's LangChain instrumentation write no more than this of an approval that is waited for.
    """
    content = node.reading.output
    if node.role == "llm" or not content:
        return False
    if content.kind == "text":
        return _TOLD.fullmatch(str(content.value)) is not None
    said = content.said() if content.kind == "messages" else ()
    # A call whose arguments could not be read was refused by the framework: nobody can be asked about it.
    return bool(said) and any(not isinstance(call.arguments, str) for call in said[-1].calls)


def _began(tools: Sequence[Node], since_ns: int) -> bool:
    """Tell a call that was begun last and gave nothing, without an error: OpenAI's agents wait so for an approval."""
    last = tools[-1] if tools else None
    if last is None or last.role != "tool" or hands_over(last) or last.span.start_ns < since_ns or not last.span.end_ns:
        return False
    read = last.reading
    nothing = read.tool_result is None and read.tool_error is None and last.span.status != "error"
    return nothing and read.tool_arguments is not None and not last.children


def asks(value: JSONValue) -> bool:
    """Tell a value that asks a human for an approval, or lists what waits for one."""
    if not isinstance(value, dict):
        return False
    if value.get(_INTERRUPT) or value.get("state") == "approval-requested":
        return True
    kind = value.get("type")
    if isinstance(kind, str) and _REQUEST.fullmatch(kind):
        return True
    keys = {key for key in value if not key.startswith("_")}
    return keys >= _DEFERRED and keys <= _DEFERRED | _BESIDE_DEFERRED and bool(value["calls"] or value["approvals"])
