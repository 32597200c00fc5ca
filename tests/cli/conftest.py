"""The real console script, run as a user runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tracescore.cli import main

SCRIPT = Path(sys.executable).with_name("tracescore")
TRACES = Path(__file__).parents[2] / "tracescore" / "cli" / "demo_traces"


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """What a command left behind."""

    code: int
    out: str
    err: str
    lists: bool = False
    """Whether the command lists things."""

    @property
    def json(self) -> Any:
        """Give stdout as JSON, one object a line: all of them where the command lists things, else the only one."""
        objects = [json.loads(line) for line in self.out.splitlines()]
        if self.lists:
            return objects
        (only,) = objects
        return only


def lists_things(words: Sequence[str | Path]) -> bool:
    """Tell commands that print an object for each thing that they find."""
    lists = ("runs", "score", "scores", "scorers", "explain")
    return words[:1] in [(name,) for name in lists] or words[:2] in (
        ("tokens", "list"),
        ("tokens", "revoke"),
        ("batches", "--json"),
    )


Command: TypeAlias = Callable[..., Ended]
InProcess: TypeAlias = Callable[..., Ended]


def clean_environ(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Give an environment without settings of tracescore's or a judge's."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("TRACESCORE_", "OPENAI_", "OTEL_"))
    }
    return kept | {"COLUMNS": "120"} | dict(extra or {})


@pytest.fixture
def tracescore(tmp_path: Path) -> Command:
    """Run ``tracescore`` with words, in a folder of the test's own; no stack trace may ever be seen."""

    def run(*words: str | Path, cwd: Path = tmp_path, environ: Mapping[str, str] | None = None) -> Ended:
        ended = subprocess.run(
            [SCRIPT, *map(str, words)],
            cwd=cwd,
            env=clean_environ(environ),
            capture_output=True,
            timeout=60,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        out, err = ended.stdout.decode("utf-8"), ended.stderr.decode("utf-8")
        result = Ended(code=ended.returncode, out=out, err=err, lists=lists_things(words))

        assert "Traceback" not in result.out + result.err
        return result

    return run


@pytest.fixture
def in_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> InProcess:
    """Run the same entry point without a process of its own: for what only looks at words and settings."""
    for name in set(os.environ) - clean_environ().keys():
        monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.chdir(tmp_path)

    def run(*words: str | Path, environ: Mapping[str, str] | None = None) -> Ended:
        capfd.readouterr()
        with monkeypatch.context() as patch:
            for name, value in (environ or {}).items():
                patch.setenv(name, value)
            code = main([str(word) for word in words])
        out, err = capfd.readouterr()

        assert "Traceback" not in out + err
        return Ended(code=code, out=out, err=err, lists=lists_things(words))

    return run
