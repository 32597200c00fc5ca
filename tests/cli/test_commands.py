"""What every command has in common."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Command, InProcess
from tracescore.cli.options import DEMO_APP
from tracescore.store import Store

COMMANDS = (
    "demo",
    "init",
    "up",
    "serve",
    "worker",
    "runs",
    "score",
    "scores",
    "replay",
    "scorers",
    "backfill",
    "batches",
    "doctor",
)


def test_help_names_every_command(tracescore: Command) -> None:
    ended = tracescore("--help")

    assert ended.code == 0
    for command in COMMANDS:
        assert f"\n  {command} " in ended.out


def test_without_words_it_helps(in_process: InProcess) -> None:
    assert in_process().out == in_process("--help").out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_json(in_process: InProcess, command: str) -> None:
    assert "--json" in in_process(command, "--help").out


@pytest.mark.parametrize(
    "words",
    [("nonsense",), ("runs", "--nonsense"), ("up", "--port", "many"), ("score",), ("scores", "--since", "soon")],
)
def test_wrong_words_are_one_line_and_exit_code_2(
    in_process: InProcess, tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / ".tracescore").mkdir()
    ended = in_process(*words)

    assert (ended.code, ended.out, len(ended.err.splitlines())) == (2, "", 1)


@pytest.mark.parametrize("command", ["runs", "scores", "scorers"])
def test_without_a_store_it_says_how_to_get_one(in_process: InProcess, tmp_path: Path, command: str) -> None:
    ended = in_process(command, "--json")

    assert (ended.code, ended.out) == (2, "")
    assert "`tracescore up` makes one" in ended.err
    assert list(tmp_path.iterdir()) == []


def test_a_worker_makes_no_store_of_a_typing_error(in_process: InProcess, tmp_path: Path) -> None:
    Store.open(tmp_path / "data").close()
    ended = in_process("worker", "--data", "dta", "--app", DEMO_APP)

    assert (ended.code, ended.out) == (2, "")
    assert "no store in 'dta' (did you mean 'data'?)" in ended.err
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


@pytest.mark.parametrize("command", ["up", "worker"])
def test_without_an_app_it_says_how_to_name_one(in_process: InProcess, command: str) -> None:
    ended = in_process(command)

    assert (ended.code, ended.out, len(ended.err.splitlines())) == (2, "", 1)
    assert "TRACESCORE_APP=module:attr" in ended.err


def test_an_app_that_is_not_there_is_one_line(tracescore: Command) -> None:
    ended = tracescore("up", environ={"TRACESCORE_APP": "scoring:app"})

    assert (ended.code, ended.out, len(ended.err.splitlines())) == (2, "", 1)
    assert "scoring" in ended.err


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("TRACESCORE_PORT", "many", "a number"),
        (
            "TRACESCORE_BROKER",
            "what",
            "embedded, none, or a URL such as redis://host:6379/0, rediss://, valkey://, amqp:// or amqps://",
        ),
        ("TRACESCORE_OTLP_ENDPOINT", "nonsense", "a URL such as http://localhost:4318"),
    ],
)
def test_a_wrong_setting_names_the_variable(in_process: InProcess, name: str, value: str, expected: str) -> None:
    ended = in_process("scores", environ={name: value})

    assert (ended.code, ended.err) == (2, f"tracescore: {name} is {value!r}: expected {expected}\n")


def test_a_folder_that_cannot_be_one_is_told_in_one_line(in_process: InProcess, tmp_path: Path) -> None:
    taken = tmp_path / "file"
    taken.write_text("x", encoding="utf-8")
    ended = in_process("up", "--data", str(taken), "--app", "tracescore.cli.demo_app:app")

    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "give another folder with --data" in ended.err


def test_a_stand_in_model_on_a_port_that_is_none_is_told_in_one_line() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tracescore.testing.model_server", "--port", "222222"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 2
    assert "--port is 222222: expected 0 to 65535" in done.stderr


def test_init_writes_an_app_that_scores(tracescore: Command, tmp_path: Path) -> None:
    from tests.cli.conftest import TRACES

    assert tracescore("init", "--json").json == {"path": "scoring.py"}

    ended = tracescore(
        "score", TRACES / "otel_genai_openai_agents" / "tool_call.json", "--app", "scoring:app", "--json"
    )

    assert ended.code == 0
    assert {item["scorer_id"]: item["score"] for item in ended.json} == {"brevity": 1.0, "tools_worked": 1.0}


def test_init_changes_no_file_that_is_there(in_process: InProcess, tmp_path: Path) -> None:
    (tmp_path / "scoring.py").write_text("mine", encoding="utf-8")
    ended = in_process("init")

    assert (ended.code, (tmp_path / "scoring.py").read_text(encoding="utf-8")) == (2, "mine")
    assert "was not changed" in ended.err


def test_scorers_of_an_app(in_process: InProcess) -> None:
    found = in_process("scorers", "--app", "tracescore.cli.demo_app:app", "--json").json

    assert [item["scorer_id"] for item in found] == ["answered", "tools_worked", "grounded", "remembers_name"]
    assert all(item["version"] and not item["needs_judge"] for item in found)


def test_a_judge_joins_the_demo_where_one_is_configured(tracescore: Command) -> None:
    found = tracescore(
        "scorers", "--app", "tracescore.cli.demo_app:app", "--json", environ={"OPENAI_API_KEY": "sk-test"}
    ).json

    assert [item["scorer_id"] for item in found if item["needs_judge"]] == ["helpful"]
    assert "sk-test" not in json.dumps(found)


def test_doctor_says_what_is_missing_and_what_to_do(in_process: InProcess) -> None:
    ended = in_process("doctor", "--json")
    checks = {check["name"]: (check["state"], bool(check["todo"])) for check in ended.json["checks"]}

    assert (ended.code, ended.json["ok"]) == (0, True)
    assert checks == {
        "settings": ("ok", False),
        "store": ("warn", True),
        "broker": ("warn", True),
        "app": ("warn", True),
        "judge": ("ok", False),
        "retries": ("ok", False),
        "redaction": ("ok", False),
    }


def test_doctor_fails_where_something_is_broken(in_process: InProcess, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "spans.db").write_bytes(b"no database at all" * 100)
    ended = in_process("doctor", "--data", "data", "--broker", "redis://user:secret@127.0.0.1:1/0", "--app", "no:app")

    assert ended.code == 1
    assert ended.out.count("✗") == 3
    assert "secret" not in ended.out
