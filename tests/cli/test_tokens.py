"""``tracescore tokens``, and what hosts and projects the other commands take."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.conftest import Command, InProcess
from tests.server.stored import make_run
from tracescore.bridge import run_sync
from tracescore.pipeline.run_records import run_record
from tracescore.store import Store, is_secret_of

TOKEN = re.compile(r"ts_[0-9a-f]{16}_[0-9a-f]{64}\n")


def test_a_token_is_shown_once_and_alone_on_stdout(tracescore: Command, tmp_path: Path) -> None:
    ended = tracescore("tokens", "create", "--kind", "ingest", "--project", "shop", "--name", "Ada's agent")

    assert (ended.code, bool(TOKEN.fullmatch(ended.out))) == (0, True)
    assert "ingest token" in ended.err
    assert "OTEL_EXPORTER_OTLP_HEADERS" in ended.err
    secret = ended.out.strip()[-64:]
    listed = [tracescore("tokens", "list"), tracescore("tokens", "list", "--json")]

    assert [secret in said.out + said.err for said in (*listed, ended)] == [False, False, True]
    assert secret not in ended.err
    assert "Ada's agent" in listed[0].out
    assert {key: listed[1].json[0][key] for key in ("project", "kind", "name", "revoked_at")} == {
        "project": "shop",
        "kind": "ingest",
        "name": "Ada's agent",
        "revoked_at": None,
    }
    kept = b"".join(path.read_bytes() for path in (tmp_path / ".tracescore").glob("*"))
    assert secret.encode() not in kept
    assert bytes.fromhex(secret) not in kept


def test_tokens_for_machines(in_process: InProcess) -> None:
    made = in_process("tokens", "create", "--kind", "read", "--json").json
    other = in_process("tokens", "create", "--kind", "read", "--project", "shop", "--json").json

    assert made.keys() == {
        "token_id",
        "project",
        "kind",
        "name",
        "created_at",
        "last_used_at",
        "revoked_at",
        "token",
    }
    assert [item["project"] for item in in_process("tokens", "list", "--json").json] == ["default", "shop"]
    assert [item["token_id"] for item in in_process("tokens", "list", "--project", "shop", "--json").json] == [
        other["token_id"]
    ]
    with Store.open(".tracescore") as store:
        (row, _) = run_sync(store.tokens.list())
    assert is_secret_of(made["token"], row.secret_hash)


def test_a_token_is_revoked_by_its_id_or_by_itself(in_process: InProcess) -> None:
    made = [in_process("tokens", "create", "--kind", "read", "--json").json for _ in range(2)]
    ended = in_process("tokens", "revoke", made[0]["token_id"], made[1]["token"], "--json")

    assert ended.json == [{"token_id": item["token_id"], "revoked": True} for item in made]
    assert all(item["revoked_at"] for item in in_process("tokens", "list", "--json").json)
    again = in_process("tokens", "revoke", made[1]["token"])
    assert (again.code, made[1]["token"] in again.err) == (0, False)
    assert "revoked" in in_process("tokens", "list").out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("create",), "--kind"),
        (("create", "--kind", "write"), "'write' is not one of 'ingest', 'read'"),
        (("create", "--kind", "read", "--project", "a b"), "'a b' cannot be a project's name"),
        (("revoke", "nonsense"), "no token 'nonsense'"),
        (("revoke",), "ID"),
        (("list", "--data", "nowhere"), "no store in 'nowhere'"),
        ((), "Missing command"),
    ],
)
def test_wrong_words_are_one_line(in_process: InProcess, words: tuple[str, ...], said: str) -> None:
    in_process("tokens", "create", "--kind", "read")
    ended = in_process("tokens", *words)

    assert (ended.code, ended.out, len(ended.err.splitlines())) == (2, "", 1)
    assert said in ended.err


def test_a_secret_that_is_mistyped_is_not_said_again(in_process: InProcess) -> None:
    token = in_process("tokens", "create", "--kind", "read").out.strip()
    ended = in_process("tokens", "revoke", token[:-1])

    assert (ended.code, token[20:-1] in ended.err) == (2, False)


@pytest.mark.parametrize("command", ["serve", "up"])
def test_beyond_loopback_nothing_starts_without_a_token(in_process: InProcess, command: str) -> None:
    ended = in_process(
        command, "--host", "0.0.0.0", "--port", "0", environ={"TRACESCORE_APP": "tracescore.cli.demo_app:app"}
    )

    assert (ended.code, ended.out) == (2, "")
    assert "`tracescore tokens create`" in ended.err
    assert "--insecure" in ended.err


def test_commands_read_the_project_that_is_named(in_process: InProcess) -> None:
    run = make_run()
    with Store.open(".tracescore") as store:
        run_sync(store.runs.replace_runs("shop", str(run.trace_id), 1, [run_record(run, first_arrival_ns=1)]))

    def run_ids(*words: str, **environ: str) -> list[str]:
        return [item["run_id"] for item in in_process("runs", "--json", *words, environ=environ).json]

    assert run_ids() == []
    assert run_ids("--project", "shop") == [run.run_id]
    assert run_ids(TRACESCORE_PROJECT="shop") == [run.run_id]
    assert run_ids(TRACESCORE_PROJECT="other,shop") == []
    for command in ("scores", "scorers"):
        assert in_process(command, "--project", "shop", "--json").json == []
    assert "--project" in in_process("doctor", "--help").out
