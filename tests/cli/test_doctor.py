"""What ``doctor`` and the starting commands say of settings, rules, judges, tokens and planning."""

from __future__ import annotations

import stat
import time
from pathlib import Path

import orjson
import pytest

from tests.cli.conftest import Ended, InProcess
from tests.store.rows import plan, replace_runs, run_record
from tracescore import Redaction
from tracescore.app import load_app
from tracescore.bridge import run_sync
from tracescore.cli.checks import DAY_NS
from tracescore.store import BackfillSpec, DecisionCount, Store

APP = """
import tracescore as t

@t.scorer(id="brevity")
def brevity(run):
    return 1.0

def judged(id, **given):
    return t.create_scorer(id=id, judge=t.Judge(instructions="Be strict.", **given)).generate_score(
        description="x", create_prompt=lambda ctx: "x"
    )

empty = t.TraceScore(scorers=[])
unredacted = t.TraceScore(scorers=[], redaction=t.Redaction(defaults=False))
ruleless = t.TraceScore(scorers=[brevity], rules=[])
app = t.TraceScore(
    scorers=[
        brevity,
        judged("polite", model="openai/gpt-5-mini"),
        judged("strict", model="openai/gpt-5-mini"),
        judged("local", model="ollama/qwen3"),
        judged("keyed", model="anthropic/claude", api_key="sk-secret", error_processors=[]),
        judged("own", model=type("Own", (), {"name": "mine", "ask": print})()),
    ],
    rules=[t.Rule(brevity)],
)
"""


def state_of(ended: Ended, name: str) -> tuple[str, str, str]:
    (found,) = (check for check in ended.json["checks"] if check["name"] == name)
    return found["state"], found["message"], found["todo"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "graded.py").write_text(APP, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("command", ["doctor", "up", "serve", "worker"])
def test_a_misspelt_setting_is_told_with_its_nearest_match(in_process: InProcess, command: str) -> None:
    # The folder cannot be one, so that nothing runs on.
    ended = in_process(
        command, "--data", __file__, environ={"TRACESCORE_SLOT": "8", "TRACESCORE_APP": "tracescore.cli.demo_app:app"}
    )
    said = ended.out if command == "doctor" else ended.err

    assert "TRACESCORE_SLOT is no setting and is ignored; did you mean TRACESCORE_SLOTS?" in " ".join(said.split())


def test_an_app_without_rules_is_told_so(in_process: InProcess, project: Path) -> None:
    doctor = in_process("doctor", "--json", "--app", "graded:ruleless")
    started = [in_process(command, "--data", __file__, "--app", "graded:ruleless").err for command in ("up", "worker")]
    empty = state_of(in_process("doctor", "--json", "--app", "graded:empty"), "app")

    assert state_of(doctor, "app") == (
        "warn",
        "graded:ruleless: scorers brevity; the app has no rules, so no run is scored by itself",
        "give TraceScore(rules=[Rule(...)]), or leave rules= out for a rule on every scorer",
    )
    assert all("tracescore: the app has no rules, so no run is scored by itself" in said for said in started)
    assert (empty[0], empty[2]) == ("warn", "give TraceScore(scorers=[...])")


def test_doctor_says_which_judges_are_asked_and_where_their_keys_come_from(
    in_process: InProcess, project: Path
) -> None:
    without = in_process("doctor", "--json", "--app", "graded:app")
    having = in_process("doctor", "--json", "--app", "graded:app", environ={"OPENAI_API_KEY": "sk-secret"})
    rest = (
        "ollama/qwen3 (no key needed at http://localhost:11434/v1) asked by local; "
        "anthropic/claude (key given in the app at https://api.anthropic.com/v1/) asked by keyed; "
        "mine (an object of the app's own) asked by own"
    )

    assert state_of(without, "judge") == (
        "warn",
        f"openai/gpt-5-mini (OPENAI_API_KEY is not set at https://api.openai.com/v1) asked by polite, strict; {rest}",
        "set OPENAI_API_KEY where workers run, or give Judge(api_key=...)",
    )
    assert state_of(having, "judge") == (
        "ok",
        f"openai/gpt-5-mini (key from OPENAI_API_KEY at https://api.openai.com/v1) asked by polite, strict; {rest}",
        "",
    )
    assert "sk-secret" not in without.out + having.out
    assert "no rule names polite, strict, local, keyed, own" in state_of(having, "app")[1]


def test_doctor_says_what_is_retried_and_what_is_redacted(
    in_process: InProcess, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    default = in_process("doctor", "--json", "--app", "graded:app")
    none = in_process("doctor", "--json")
    wrong = in_process("doctor", "--json", environ={"TRACESCORE_REDACTION": "of"})
    other = in_process("doctor", "--json", "--app", "graded:unredacted")

    assert state_of(default, "retries") == (
        "ok",
        "polite, strict, local, own: StreamErrorRetryProcessor: 2 retries of what may pass, Retry-After up to 30 s; "
        "at most 10 in a judge call; keyed: no retries",
        "",
    )
    assert state_of(none, "retries")[1] == "no app given: --app module:attr or TRACESCORE_APP tells"
    assert state_of(default, "redaction") == (
        "ok",
        "default: store without api_key, password, private_key, token; "
        "judge without api_key, card, email, password, phone, private_key, token; "
        f"sink without api_key, card, email, password, phone, private_key, token (version {Redaction().version})",
        "",
    )
    assert state_of(wrong, "redaction")[0] == "fail"
    assert state_of(other, "redaction")[0] == "warn"
    assert "Workers of the app: everything passes" in state_of(other, "redaction")[1]


def test_doctor_says_who_may_send_and_read(in_process: InProcess) -> None:
    with Store.open(".tracescore") as store:
        none = state_of(in_process("doctor", "--json"), "tokens")
        ingest = run_sync(store.tokens.create("shop", "ingest"))
        one = state_of(in_process("doctor", "--json", "--project", "shop"), "tokens")
        run_sync(store.tokens.create("shop", "read"))
        both = state_of(in_process("doctor", "--json", "--project", "shop"), "tokens")
        run_sync(store.tokens.revoke(ingest.row.token_id))
        revoked = state_of(in_process("doctor", "--json", "--project", "shop"), "tokens")

    assert none[0] == "ok"
    assert one == (
        "warn",
        "1 ingest of shop; nobody can read scores over HTTP in project shop",
        "`tracescore tokens create --kind read --project shop`",
    )
    assert both == ("ok", "1 ingest of shop, 1 read of shop", "")
    assert revoked[1] == "1 read of shop (1 revoked); nobody can send spans in project shop"


def test_doctor_says_what_prepare_run_refused(in_process: InProcess) -> None:
    hour = time.time_ns() // (3600 * 10**9)

    def decided(outcome: str, count: int, at: int = hour, example: str | None = None) -> DecisionCount:
        return DecisionCount(rule_set="r", scorer_id="s", hour=at, outcome=outcome, count=count, example=example)

    with Store.open(".tracescore") as store:
        plan(store, counts=[decided("sampled_in", 5), decided("sampled_in", 7, hour - 2 * DAY_NS // (3600 * 10**9))])
        fine = state_of(in_process("doctor", "--json"), "planning")
        plan(store, counts=[decided("prepare_failed", 1, hour - 1, "run 1: ValueError: old")])
        plan(store, counts=[decided("prepare_failed", 2, hour, "run 2: ValueError: new")])
        broken = state_of(in_process("doctor", "--json"), "planning")

    assert fine == ("ok", "in the last 24 h 5 sampled in", "")
    assert broken == (
        "warn",
        "in the last 24 h 3 prepare failed, 5 sampled in; s, prepare failed: run 2: ValueError: new",
        "correct prepare_run; the runs are kept",
    )


def test_a_store_is_for_nobody_but_its_user(in_process: InProcess, tmp_path: Path) -> None:
    with Store.open(tmp_path / "deep" / "data") as store:
        run_sync(store.tokens.create("shop", "read"))
        modes = {
            path.name: stat.S_IMODE(path.stat().st_mode) & 0o077
            for path in (tmp_path / "deep" / "data", *(tmp_path / "deep" / "data").iterdir())
        }

    assert "work.db-wal" in modes
    assert set(modes.values()) == {0}


def test_doctor_says_which_runs_came_before_the_rules(in_process: InProcess, project: Path) -> None:
    early, late = run_record("1" * 32, first_arrival_ns=5), run_record("2" * 32, first_arrival_ns=50)
    with Store.open(project / ".tracescore") as store:
        replace_runs(store, early, late)
        unseen = state_of(in_process("doctor", "--json", "--app", "graded:app"), "rules")
        rules = load_app("graded:app").rule_set
        run_sync(
            store.control.rule_set(
                "default", "app", rules.hash, orjson.dumps(rules.spec()).decode(), rules.rule_hashes, now_ns=20
            )
        )
        kept = state_of(in_process("doctor", "--json"), "rules")
        run_sync(store.backfills.create("default", "brevity", "1", BackfillSpec()))
        asked = state_of(in_process("doctor", "--json"), "rules")

    assert unseen[:2] == ("warn", "2 runs came before the rules were seen, and are not scored by themselves (brevity)")
    assert kept[1].startswith("1 run came before")
    assert kept[2] == "tracescore backfill --scorer brevity"
    assert asked[0] == "ok"
