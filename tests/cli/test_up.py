"""``tracescore up`` as the README gives it: an app in the current folder, an OTLP exporter pointed at it."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import Any

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from tests.cli.conftest import SCRIPT, Command, InProcess, clean_environ

SCORING = """
from tracescore import Rule, TraceScore, create_scorer, scorer

@scorer(id="brevity")
def brevity(run):
    return 1.0 if len(run.output.text) < 280 else 0.5

polite = (
    create_scorer(id="polite", type="agent")
    .generate_score(lambda ctx: 1.0 if "please" in ctx.run.output.text else 0.25)
    .generate_reason(lambda ctx: "It says please." if ctx.score == 1 else "It does not say please.")
)

app = TraceScore(scorers=[brevity, polite], rules=[Rule(brevity), Rule(polite, where={"agent": "Concierge"})])
"""


@contextmanager
def running(*words: str, cwd: Path, environ: dict[str, str]) -> Generator[Queue[Any], None, None]:
    """Run a command that goes on until it is interrupted; gives its JSON lines, and checks that it ends well."""
    process = subprocess.Popen(
        [SCRIPT, *words], cwd=cwd, env=clean_environ(environ), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    lines: Queue[Any] = Queue()

    def read() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            lines.put(json.loads(line))

    reader = Thread(target=read, daemon=True)
    reader.start()
    try:
        yield lines
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)

        assert (process.returncode, b"Traceback" in err) == (0, False)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        reader.join(timeout=5)


def next_line(lines: Queue[Any]) -> Any:
    try:
        return lines.get(timeout=60)
    except Empty:
        raise AssertionError("waited 60 s in vain for a line of tracescore up") from None


def emit_agent_run(endpoint: str) -> None:
    """Do one agent run's worth of spans by the OpenTelemetry SDK and its OTLP exporter."""
    provider = TracerProvider(resource=Resource.create({"service.name": "hotel"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=f"{endpoint}/v1/traces")))
    tracer = provider.get_tracer("test.agent")
    with tracer.start_as_current_span("invoke_agent Concierge") as agent:
        agent.set_attributes({"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "Concierge"})
        with tracer.start_as_current_span("chat gpt-4o-mini") as call:
            call.set_attributes(
                {
                    "gen_ai.operation.name": "chat",
                    "gen_ai.provider.name": "openai",
                    "gen_ai.request.model": "gpt-4o-mini",
                    "gen_ai.input.messages": json.dumps(
                        [{"role": "user", "parts": [{"type": "text", "content": "A room, now."}]}]
                    ),
                    "gen_ai.output.messages": json.dumps(
                        [{"role": "assistant", "parts": [{"type": "text", "content": "Room 12, please."}]}]
                    ),
                }
            )
    provider.shutdown()


def test_scores_appear_seconds_after_an_agent_run_ends(
    tracescore: Command, in_process: InProcess, tmp_path: Path
) -> None:
    (tmp_path / "scoring.py").write_text(SCORING, encoding="utf-8")
    environ = {"TRACESCORE_APP": "scoring:app", "TRACESCORE_SETTLE_QUIET": "0.5"}
    with running("up", "--port", "0", "--data", "data", "--json", cwd=tmp_path, environ=environ) as lines:
        listening = next_line(lines)
        emit_agent_run(listening["url"])
        outcomes = [next_line(lines), next_line(lines)]
        doctor = tracescore("doctor", "--data", "data", "--app", "scoring:app", "--json")

    assert (listening["event"], listening["scorers"]) == ("listening", ["brevity", "polite"])
    assert {(item["scorer_id"], item["score"], item["reason"]) for item in outcomes} == {
        ("brevity", 1.0, None),
        ("polite", 1.0, "It says please."),
    }
    assert {check["name"]: check["state"] for check in doctor.json["checks"]} == dict.fromkeys(
        [
            "settings",
            "store",
            "broker",
            "workers",
            "offers",
            "jobs",
            "planning",
            "rules",
            "tokens",
            "app",
            "judge",
            "retries",
            "redaction",
        ],
        "ok",
    )

    stored = in_process("scores", "--data", "data", "--json").json
    (run,) = in_process("runs", "--data", "data", "--json").json

    assert {item["run_id"] for item in stored} == {run["run_id"]}
    assert (run["agent_name"], run["output_text"]) == ("Concierge", "Room 12, please.")
    assert "It says please." in in_process("scores", "--data", "data").out
