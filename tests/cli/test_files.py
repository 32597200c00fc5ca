"""``tracescore runs FILE`` and ``tracescore score FILE``: in process, from files alone."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import SCRIPT, TRACES, Command, InProcess, clean_environ
from tests.waiting import wait_until

TESTS = Path(__file__).parents[1]
TOOL_CALL = TRACES / "openinference_openai_agents" / "chat_tool_call.json"
TOOL_ERROR = TRACES / "openinference_langchain" / "tool_error.json"
RETRIEVER = TRACES / "openinference_langchain" / "retriever.json"
EVENTS_ONLY = TRACES / "otel_genai_openai" / "event_only.json"

RUN_FIELDS = {
    "run_id", "trace_id", "span_id", "parent_run_id", "kind", "agent_name", "model", "session_id", "user_id", "status",
    "input_messages", "remembered_messages", "system_messages", "tagged_system_messages", "output", "output_text",
    "tool_calls", "contexts", "usage", "issues",
}  # fmt: skip

BROKEN_FILES: list[tuple[str, bytes]] = [
    ("empty.json", b""),
    ("not_json.json", b"%PDF-1.7 \x00\xff\xfe not json"),
    ("cut.json", TOOL_CALL.read_bytes()[:2000]),
    ("other.json", b'{"hello": [1, 2, 3]}'),
    ("list.json", b"[[[]]]"),
]


def with_text(text: str) -> bytes:
    """Give an OTLP request with one agent run that answers ``text``."""
    attributes: dict[str, Any] = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": text,
        "gen_ai.input.messages": json.dumps([{"role": "user", "parts": [{"type": "text", "content": text}]}]),
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": text}]}]),
    }
    span = {
        "traceId": "ab" * 16,
        "spanId": "cd" * 8,
        "name": "invoke_agent",
        "startTimeUnixNano": "1",
        "endTimeUnixNano": "2",
        "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()],
    }
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"scope": {"name": "x"}, "spans": [span]}]}]}).encode()


def test_runs_prints_one_json_array_of_runs(tracescore: Command) -> None:
    ended = tracescore("runs", TOOL_CALL, "--json")
    (run,) = ended.json

    assert (ended.code, ended.err, run.keys()) == (0, "", RUN_FIELDS)
    assert (run["agent_name"], run["output_text"]) == ("WeatherBot", "It is 18C and sunny in Paris, Ada.")
    assert run["input_messages"] == [
        {"role": "user", "parts": [{"type": "text", "text": "What is the weather in Paris?"}]}
    ]
    assert [(call["name"], call["arguments"]) for call in run["tool_calls"]] == [("get_weather", {"city": "Paris"})]


def test_log_records_beside_a_file_are_taken_along(in_process: InProcess) -> None:
    (run,) = in_process("runs", EVENTS_ONLY, "--json").json

    assert run["output_text"] == "It is 18C and sunny in Paris, Ada."


def test_runs_for_a_person_shows_what_the_run_holds(in_process: InProcess) -> None:
    ended = in_process("runs", TOOL_CALL)

    assert ended.code == 0
    for word in ("WeatherBot", "What is the weather in Paris?", 'get_weather(city="Paris")', "It is 18C and sunny"):
        assert word in ended.out


@pytest.mark.parametrize("command", ["runs", "score"])
@pytest.mark.parametrize(("name", "content"), BROKEN_FILES, ids=[name for name, _ in BROKEN_FILES])
def test_what_cannot_be_read_is_named_and_the_rest_goes_on(
    in_process: InProcess, tmp_path: Path, command: str, name: str, content: bytes
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    ended = in_process(command, path, TOOL_CALL, "--json")

    assert ended.code == 2
    assert name in ended.err
    assert ended.json != []


@pytest.mark.parametrize("command", ["runs", "score"])
def test_a_missing_file_is_one_line(in_process: InProcess, command: str) -> None:
    ended = in_process(command, "nowhere.json", "--json")

    assert (ended.code, ended.json) == (2, [])
    assert [line for line in ended.err.splitlines() if "nowhere.json" in line] == [
        "tracescore: nowhere.json: no such file"
    ]


def test_a_broken_attribute_is_an_issue_and_not_an_error(in_process: InProcess, tmp_path: Path) -> None:
    alone = tmp_path / "truncated.json"  # without the log records beside it, which hold the rest
    shutil.copy(TRACES / "otel_genai_openai" / "truncated.json", alone)
    ended = in_process("score", alone)

    assert ended.code == 0
    assert "truncated" in ended.out


def test_score_gives_one_outcome_for_each_run_and_scorer(tracescore: Command) -> None:
    ended = tracescore("score", TOOL_CALL, "--json")
    outcomes = {item["scorer_id"]: (item["outcome"], item["score"]) for item in ended.json}

    assert ended.code == 0
    assert outcomes == {
        "answered": ("score", 1.0),
        "tools_worked": ("score", 1.0),
        "grounded": ("score", 1.0),
        "remembers_name": ("score", 1.0),
    }
    assert "No app given" in ended.err


def test_a_failed_tool_call_scores_lower_with_a_reason(in_process: InProcess) -> None:
    ended = in_process("score", TOOL_ERROR, "--scorer", "tools_worked", "--json")
    (outcome,) = ended.json

    assert (outcome["score"], "get_weather" in outcome["reason"]) == (0.0, True)


KINDS_APP = """
from tracescore import Rule, TraceScore, create_scorer
KINDS = ("session", "workflow", "step", "llm", "tool", "retrieval", "span")

def saying(kind):
    return create_scorer(id=kind, version="1").generate_score(
        lambda ctx: 1.0).generate_reason(lambda ctx: ctx.run.kind)

app = TraceScore([*map(saying, KINDS), saying("plain")], rules=[Rule(kind, kind=kind, nested=True) for kind in KINDS])
"""


def with_session(run: int) -> bytes:
    """Give a trace of an agent that calls a model and a tool, in the session ``s``."""
    request = json.loads(with_text(f"turn {run}"))
    (span,) = request["resourceSpans"][0]["scopeSpans"][0]["spans"]
    span["traceId"] = f"{run:032x}"
    span["attributes"].append({"key": "session.id", "value": {"stringValue": "s"}})
    spans = request["resourceSpans"][0]["scopeSpans"][0]["spans"]
    for number, (operation, more) in enumerate(
        (("chat", {}), ("execute_tool", {"gen_ai.tool.name": "look"}), ("", {}))
    ):
        stated = {"gen_ai.operation.name": operation, **more} if operation else {"x": "y"}
        below = {"spanId": f"{number + 1:016x}", "parentSpanId": span["spanId"], "name": operation or "more"}
        attributes = [{"key": key, "value": {"stringValue": value}} for key, value in stated.items()]
        spans.append({**span, **below, "attributes": attributes})
    return json.dumps(request).encode()


def test_rules_of_every_kind_get_their_runs(in_process: InProcess, tmp_path: Path) -> None:
    (tmp_path / "kinds_app.py").write_text(KINDS_APP, encoding="utf-8")
    for turn in (1, 2):
        (tmp_path / f"{turn}.json").write_bytes(with_session(turn))

    def told(*words: str | Path) -> dict[str, int]:
        ended = in_process("score", "1.json", "2.json", *words, "--app", "kinds_app:app", "--json")
        assert (ended.code, ended.err) == (0, "")
        assert all(item["reason"] == item["scorer_id"] or item["scorer_id"] == "plain" for item in ended.json)
        return dict(Counter(item["scorer_id"] + "/" + item["reason"] for item in ended.json))

    each = {"llm/llm": 2, "tool/tool": 2, "span/span": 2, "session/session": 1}
    assert told() == each
    assert told(RETRIEVER).keys() >= each.keys() | {"retrieval/retrieval", "workflow/workflow"}
    assert told("--scorer", "tool", "--scorer", "session") == {"tool/tool": 2, "session/session": 1}
    assert told("--scorer", "plain") == {"plain/agent": 2}, "a scorer without a rule sees agents' runs"
    assert "look" in in_process("score", "1.json", "--scorer", "tool", "--app", "kinds_app:app").out


def test_the_apps_rules_decide_what_is_scored(tracescore: Command, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from tracescore import Rule, TraceScore, scorer\n"
        "@scorer(id='length')\n"
        "def length(run):\n    return min(1.0, len(run.output.text) / 100)\n"
        "@scorer(id='never')\n"
        "def never(run):\n    return 0.0\n"
        "app = TraceScore([length, never], rules=[Rule(length), Rule(never, where={'agent': 'nobody'})])\n",
        encoding="utf-8",
    )
    ended = tracescore("score", TOOL_CALL, "--app", "mine:app", "--json")

    assert [(item["scorer_id"], item["score"]) for item in ended.json] == [("length", 0.34)]
    assert ended.err == ""


def test_what_a_scorer_prints_is_not_in_the_json(tracescore: Command, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from tracescore import TraceScore, scorer\n"
        "print('imported')\n"
        "@scorer(id='loud')\n"
        "def loud(run):\n    print('scoring'); return 1.0\n"
        "app = TraceScore([loud])\n",
        encoding="utf-8",
    )
    ended = tracescore("score", TOOL_CALL, "--app", "mine:app", "--json")

    assert [item["score"] for item in ended.json] == [1.0]
    assert ended.err.split() == ["imported", "scoring"]


def test_a_scorer_that_fails_ends_with_1_and_says_why(tracescore: Command, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from tracescore import TraceScore, scorer\n"
        "@scorer(id='broken')\n"
        "def broken(run):\n    return {}['missing key']\n"
        "@scorer(id='fine')\n"
        "def fine(run):\n    return 1.0\n"
        "app = TraceScore([broken, fine])\n",
        encoding="utf-8",
    )
    ended = tracescore("score", TOOL_CALL, "--app", "mine:app", "--json")

    assert ended.code == 1
    assert [item["outcome"] for item in ended.json] == ["failure", "score"]
    assert (ended.json[0]["error_type"], "missing key" in ended.json[0]["reason"]) == ("KeyError", True)
    assert "KeyError" in tracescore("score", TOOL_CALL, "--app", "mine:app").out


def test_ctrl_c_ends_a_step_that_blocks_and_shows_what_was_scored(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import pathlib, time\n"
        "from tracescore import TraceScore, scorer\n"
        "@scorer(id='fine')\n"
        "def fine(run):\n    return 1.0\n"
        "@scorer(id='slow')\n"
        "def slow(run):\n    pathlib.Path('blocked').touch()\n    time.sleep(60)\n"
        "app = TraceScore([fine, slow])\n",
        encoding="utf-8",
    )
    words = [SCRIPT, "score", TOOL_CALL, "--app", "mine:app", "--json"]
    scoring = subprocess.Popen(words, cwd=tmp_path, env=clean_environ(), stdout=-1, stderr=-1, text=True)
    wait_until(lambda: (tmp_path / "blocked").exists() or scoring.poll() is not None, description="a step that blocks")
    scoring.send_signal(signal.SIGINT)
    out, err = scoring.communicate(timeout=20)

    assert (scoring.returncode, err) == (130, "tracescore: interrupted; 1 of 2 outcomes were there\n")
    assert json.loads(out)["scorer_id"] == "fine"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--scorer", "anwsered"), "did you mean 'answered'"),
        (("--app", "no_such_module:app"), "no_such_module"),
        (("--app", "json:dumps"), "not a TraceScore"),
        (("--app", "json"), "module:attribute"),
    ],
)
def test_what_is_mistyped_is_one_line_and_exit_code_2(in_process: InProcess, words: tuple[str, ...], said: str) -> None:
    ended = in_process("score", TOOL_CALL, *words)

    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err.splitlines()[-1]


def test_judged_text_cannot_drive_the_terminal(in_process: InProcess, tmp_path: Path) -> None:
    path = tmp_path / "hostile.json"
    path.write_bytes(with_text("[bold]x[/] \x1b[2J\x1b]0;owned\x07\x9b31m :warning: \u202egnp"))

    for command in ("runs", "score"):
        ended = in_process(command, path, environ={"FORCE_COLOR": "1"})
        shown = ended.out.replace("\x1b[0m", "")

        assert ended.code == 0
        assert "[bold]x[/]" in shown
        assert ":warning:" in shown
        assert not {"\x07", "\x9b", "\u202e"} & set(shown)
        assert "\x1b[2J" not in shown
        assert "owned" not in shown


def test_json_keeps_judged_text_as_it_is(in_process: InProcess, tmp_path: Path) -> None:
    path = tmp_path / "hostile.json"
    path.write_bytes(with_text("\x1b[2J\u202e\x00"))
    ended = in_process("runs", path, "--json")

    assert ended.json[0]["output_text"] == "\x1b[2J\u202e\x00"
    assert "\x1b" not in ended.out


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    files = " ".join(str(path) for path in sorted(TRACES.glob("*/*.json")) if " " not in str(path))
    ended = subprocess.run(
        ["sh", "-c", f"'{SCRIPT}' runs {files} | head -n 1"],
        env=clean_environ(),
        cwd=tmp_path,
        capture_output=True,
        timeout=60,
        check=False,
    )

    assert b"Traceback" not in ended.stderr
    assert b"Exception ignored" not in ended.stderr


def test_what_the_app_prepares_is_what_is_scored(tracescore: Command, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from dataclasses import replace\n"
        "from tracescore import Rule, TraceScore, not_scorable, scorer\n"
        "@scorer(id='named')\n"
        "def named(run):\n"
        "    return 1.0 if run.agent_name == 'prepared' else 0.0\n"
        "@scorer(id='never')\n"
        "def never(run):\n"
        "    return 1.0\n"
        "app = TraceScore([named, never], prepare_run=lambda run: replace(run, agent_name='prepared'),\n"
        "    rules=[Rule(named), Rule(never, prepare_run=lambda run: None)])\n"
    )
    ended = tracescore("score", TOOL_CALL, "--app", "mine:app", "--json")

    assert [(item["outcome"], item["score"], item["reason"]) for item in ended.json] == [
        ("score", 1.0, None),
        ("not_scorable", None, "prepare_run gave None"),
    ]


def test_explain_shows_each_span_what_it_was_read_as_and_the_runs(in_process: InProcess, tmp_path: Path) -> None:
    shown = in_process("explain", TOOL_CALL)
    as_json = in_process("explain", TOOL_CALL, "--json")
    (explained,) = as_json.json

    assert shown.code == 0
    assert "→ model call 1 of its run [run 1]" in shown.out
    assert "It is 18C and sunny in Paris, Ada." in shown.out
    assert explained["spans"][0]["depth"] == 0
    assert explained["runs"][0].keys() == RUN_FIELDS


def test_explain_lets_what_wraps_hang_below_where_it_began(in_process: InProcess) -> None:
    shown = in_process("explain", TESTS / "corpus" / "google_adk" / "error.json")
    tree = shown.out.partition("\nrun 1\n")[0].splitlines()[1:]

    assert len([line for line in tree if line.startswith("  ")]) > len(tree) - 3
    assert [line for line in tree if line.startswith("    ") and "→" not in line and "✗" not in line]


def test_explain_says_why_a_span_and_its_run_failed(in_process: InProcess) -> None:
    shown = in_process("explain", TESTS / "corpus" / "vercel_ai_v6" / "error.json")
    lines = [" ".join(line.split()) for line in shown.out.splitlines()]

    assert lines.count("✗ error bad request by design") == 2
    assert lines.count("error bad request by design") == 1
    assert "output (none)" in lines


def test_explain_says_in_one_line_what_it_cannot_find(in_process: InProcess, tmp_path: Path) -> None:
    nothing = in_process("explain", "no-such-thing")

    assert (nothing.code, nothing.out) == (2, "")
    assert "neither a file nor a trace id" in nothing.err
