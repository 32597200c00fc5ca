"""Which services send spans, and whether their runs can be read: told from a sample of the stored traces."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from tracescore.model import AgentRun, Trace
from tracescore.pipeline.assembly import explain
from tracescore.pipeline.explaining import load_trace
from tracescore.store import Store

SAMPLE = 200
"""So many of the newest traces, and so many others of any time."""
UNNAMED = "(no service.name)"

ServiceState: TypeAlias = Literal["readable", "partly", "without content", "not agent traffic"]


@dataclass(frozen=True, kw_only=True, slots=True)
class SeenInstrumentation:
    """One instrumentation of a service, by its scope; ``setting`` says how its content is turned on, if it is off."""

    name: str
    version: str
    spans: int
    runs_without_content: int
    setting: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class SeenService:
    """What was seen of one service in the sample."""

    name: str
    state: ServiceState
    traces: int
    spans: int
    runs: int
    runs_without_content: int
    newest_ns: int
    instrumentations: tuple[SeenInstrumentation, ...]
    """Those whose spans say what an agent did; of a service without agents, all."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SeenServices:
    """The services in a sample of traces, the newest first."""

    sampled: int
    traces: int
    services: tuple[SeenService, ...]


@dataclass(slots=True)
class _Scope:
    spans: int = 0
    is_agent: bool = False
    without_content: int = 0
    setting: str | None = None


@dataclass(slots=True)
class _Service:
    traces: int = 0
    spans: int = 0
    runs: int = 0
    without_content: int = 0
    newest_ns: int = 0
    scopes: dict[tuple[str, str], _Scope] = field(default_factory=dict)


async def services_seen(store: Store, project: str, *, sample: int = SAMPLE) -> SeenServices:
    """Read a sample of a project's traces."""
    found: dict[str, _Service] = {}
    counts = await store.spans.trace_counts(project)
    seen = await store.spans.sample(project, limit=sample)
    for one in seen:
        trace = await load_trace(store, project, one.trace_id)
        if trace is not None:
            await asyncio.to_thread(_count, trace, one.last_arrival_ns, found)
    services = sorted(found.items(), key=lambda item: (-item[1].newest_ns, item[0]))
    return SeenServices(
        sampled=len(seen), traces=counts.traces, services=tuple(_service(name, service) for name, service in services)
    )


def _count(trace: Trace, newest_ns: int, found: dict[str, _Service]) -> None:
    explanation = explain(trace)
    roles = {span.span_id for span in explanation.spans if span.role is not None}
    scopes: dict[str, tuple[str, tuple[str, str]]] = {}
    for span in trace.spans:
        name, scope = str(span.resource.get("service.name") or UNNAMED), (span.scope_name, span.scope_version)
        scopes[span.span_id] = name, scope
        service = found.setdefault(name, _Service())
        service.spans += 1
        entry = service.scopes.setdefault(scope, _Scope())
        entry.spans += 1
        entry.is_agent = entry.is_agent or span.span_id in roles
    for name in {name for name, _ in scopes.values()}:
        found[name].traces += 1
        found[name].newest_ns = max(found[name].newest_ns, newest_ns)
    for assembled in explanation.runs:
        _count_run(assembled.run, scopes, found)


def _count_run(run: AgentRun, scopes: dict[str, tuple[str, tuple[str, str]]], found: dict[str, _Service]) -> None:
    missing = next((issue for issue in run.issues if issue.code == "content_not_captured"), None)
    about = [span_id for span_id in (missing.span_id if missing else None, run.span_id) if span_id in scopes]
    name, scope = scopes[about[0]] if about else next(iter(scopes.values()), (UNNAMED, ("", "")))
    service = found.setdefault(name, _Service())
    service.runs += 1
    if missing is None:
        return
    service.without_content += 1
    entry = service.scopes.setdefault(scope, _Scope())
    entry.without_content += 1
    entry.setting = missing.detail.partition("; ")[2] or None


def _service(name: str, seen: _Service) -> SeenService:
    agents = {scope: entry for scope, entry in seen.scopes.items() if entry.is_agent or entry.without_content}
    return SeenService(
        name=name,
        state=_state(seen),
        traces=seen.traces,
        spans=seen.spans,
        runs=seen.runs,
        runs_without_content=seen.without_content,
        newest_ns=seen.newest_ns,
        instrumentations=tuple(_instrumentations((agents or seen.scopes).items())),
    )


def _state(seen: _Service) -> ServiceState:
    if not seen.runs:
        return "not agent traffic"
    if not seen.without_content:
        return "readable"
    return "without content" if seen.without_content == seen.runs else "partly"


def _instrumentations(scopes: Iterable[tuple[tuple[str, str], _Scope]]) -> list[SeenInstrumentation]:
    found = [
        SeenInstrumentation(
            name=scope[0],
            version=scope[1],
            spans=entry.spans,
            runs_without_content=entry.without_content,
            setting=entry.setting,
        )
        for scope, entry in scopes
    ]
    return sorted(found, key=lambda one: (-one.spans, one.name, one.version))
