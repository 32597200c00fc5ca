"""The README's code runs as it stands."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.pages import README, ROOT, blocks
from tests.waiting import wait_until
from tracescore.app import load_app
from tracescore.cli.address import free_port
from tracescore.cli.demo_traffic import TRACES


def commands(start: str) -> list[str]:
    """Give the README's shell lines that hold a text, without their comments."""
    lines = (line.split("   #")[0].strip() for block in blocks(README, "bash") for line in block.splitlines())
    return [line for line in lines if start in line]


def environ(folder: Path) -> dict[str, str]:
    """Give an environment in which the console script is found, away from this project's own folder."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TRACESCORE_")}
    return kept | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{kept.get('PATH', '')}", "HOME": str(folder)}


def written(folder: Path) -> Path:
    """Write the README's ``scoring.py`` and a file of spans."""
    (python,) = (block for block in blocks(README) if block.startswith("# scoring.py"))
    (folder / "scoring.py").write_text(python, encoding="utf-8")
    shutil.copy(TRACES / "otel_genai_langchain" / "tool_call.json", folder / "traces.json")
    return folder


def test_every_python_block_is_run() -> None:
    assert [block.splitlines()[0] for block in blocks(README)] == ["# scoring.py", "# agent.py"]


def test_every_make_command_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))

    assert [line.split()[1] for line in commands("make ")] == ["demo", "test"]
    assert {"demo", "test"} <= targets


def test_init_writes_an_app_that_scores_the_same_file(tmp_path: Path) -> None:
    (command,) = commands("tracescore init")
    written(tmp_path)
    (tmp_path / "scoring.py").unlink()
    (score,) = commands("tracescore score")
    done = [
        subprocess.run(
            line, shell=True, cwd=tmp_path, env=environ(tmp_path), capture_output=True, check=False
        ).returncode
        for line in (command, score)
    ]

    assert done == [0, 0]


def test_the_first_scorers_score_a_file(tmp_path: Path) -> None:
    (command,) = commands("tracescore score")
    done = subprocess.run(
        command, shell=True, cwd=written(tmp_path), env=environ(tmp_path), capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert "brevity" in done.stdout
    assert "1.00" in done.stdout


def test_spans_are_explained_imported_and_listed(tmp_path: Path) -> None:
    lines = [*commands("tracescore explain"), *commands("tracescore import"), *commands("tracescore doctor --spans")]
    folder = written(tmp_path)
    done = [
        subprocess.run(line, shell=True, cwd=folder, env=environ(folder), capture_output=True, text=True, check=False)
        for line in lines
    ]

    assert [one.returncode for one in done] == [0, 0, 0]
    assert [word in one.stdout for word, one in zip(("model call 1", " new", "readable"), done, strict=True)] == [
        True
    ] * 3


def test_an_application_exports_in_its_own_process(tmp_path: Path) -> None:
    (python,) = (block for block in blocks(README) if block.startswith("# agent.py"))
    folder = written(tmp_path)
    traced = (
        'with provider.get_tracer("t").start_as_current_span("invoke_agent Ada") as span:\n'
        '    span.set_attributes({"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "Ada"})\n'
        "provider.shutdown()\n"
    )
    (folder / "agent.py").write_text(python + traced, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "agent.py"], cwd=folder, env=environ(folder), capture_output=True, text=True, check=False
    )

    assert (sorted(done.stdout.split("\n")), done.stderr) == (["", "Ada brevity", "Ada grounded"], "")
    assert (folder / ".tracescore" / "spans.db").is_file()


def test_the_run_that_is_shown_is_what_the_demos_app_makes_of_it(tmp_path: Path) -> None:
    (card,) = [block for block in blocks(README, "text") if block.startswith("●")]
    done = subprocess.run(
        ["tracescore", "score", "--app", "tracescore.cli.demo_app:app", "traces.json"],
        cwd=written(tmp_path),
        env=environ(tmp_path) | {"COLUMNS": "120"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert [line for line in card.splitlines() if line not in done.stdout.splitlines()] == []


def test_up_listens_and_scores_with_the_readmes_app(tmp_path: Path) -> None:
    (command,) = commands("tracescore up")
    port = free_port("127.0.0.1")
    up = subprocess.Popen(
        f"exec env {command}",
        shell=True,
        cwd=written(tmp_path),
        env=environ(tmp_path) | {"TRACESCORE_PORT": str(port), "TRACESCORE_SETTLE_QUIET": "0.3"},
        stdout=subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"

    def answer(path: str) -> str:
        try:
            with urllib.request.urlopen(url + path, timeout=5) as reply:
                return reply.read().decode()
        except OSError:
            return ""

    try:
        wait_until(lambda: answer("/readyz"), timeout=40, description="the receiver")
        request = urllib.request.Request(
            f"{url}/v1/traces", (tmp_path / "traces.json").read_bytes(), {"content-type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=10) as reply:
            assert reply.status == 200
        wait_until(lambda: '"brevity"' in answer("/api/scores"), timeout=30, description="the score of brevity")
    finally:
        up.terminate()

    assert up.wait(timeout=40) == 0


def test_the_readmes_app_is_an_app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(written(tmp_path)))
    sys.modules.pop("scoring", None)

    assert sorted(load_app("scoring:app").scorers) == ["brevity", "grounded"]
