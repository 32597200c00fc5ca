"""Results of other tools over HTTP and gRPC, joined by a worker, shown by the API beside a scorer's own."""

from __future__ import annotations

import json
from pathlib import Path

import grpc

from tests.otel.requests import as_json, as_protobuf, log, logs
from tests.pipeline.exports import agent_span, request_of
from tests.server.calls import call, get
from tests.waiting import wait_until
from tracescore.app import TraceScore
from tracescore.cli.address import free_port
from tracescore.model import AgentRun
from tracescore.pipeline.assembling import SettleTimes
from tracescore.pipeline.rules import Rule
from tracescore.pipeline.wake import NoWake
from tracescore.pipeline.worker import Worker, WorkerOptions
from tracescore.scorers import scorer
from tracescore.server import serving
from tracescore.settings import Settings
from tracescore.store import Store

LOGS = "/opentelemetry.proto.collector.logs.v1.LogsService/Export"


@scorer(id="tone", version="1")
def tone(run: AgentRun) -> float:
    return 1.0


def test_results_of_others_stand_beside_our_own_score_of_the_same_name(tmp_path: Path) -> None:
    settings = Settings(port=0, grpc_port=free_port("127.0.0.1"), broker="none", settle_quiet=0.0)
    app = TraceScore([tone], rules=[Rule(tone)])
    options = WorkerOptions(times=SettleTimes(quiet_ns=0, orphan_ns=0))
    with Store.open(tmp_path / "store") as store, serving(store, settings) as server:
        worker = Worker(store, app, wake=NoWake(), options=options)
        worker.start()
        try:
            spans = json.dumps(request_of([agent_span(1, 1)])).encode()
            call(server, "POST", "/v1/traces", spans, content_type="application/json")
            for name, value in (("tone", 0.25), ("Safety", 0.5)):
                stated = {"gen_ai.evaluation.name": name, "gen_ai.evaluation.score.value": value}
                target = {"traceId": f"{1:032x}", "spanId": f"{1:016x}"}
                record = log(None, stated, eventName="gen_ai.evaluation.result", **target)
                if name == "tone":
                    call(server, "POST", "/v1/logs", as_json(logs(record)), content_type="application/json")
                else:
                    with grpc.insecure_channel(f"{server.host}:{server.grpc_port}") as channel:
                        channel.unary_unary(LOGS)(as_protobuf(logs(record)))
            wait_until(lambda: len(get(server, "/api/scores").json["items"]) == 3, description="three scores")
        finally:
            worker.stop(grace=1.0)
        found = get(server, "/api/scores").json["items"]

    assert sorted((item["scorer_id"], item["score"], item["source"]) for item in found) == [
        ("external/Safety", 0.5, "external"),
        ("external/tone", 0.25, "external"),
        ("tone", 1.0, "live"),
    ]
    assert len({item["run_id"] for item in found}) == 1
