"""The wheel, built once from a copy of the sources, and a user's project beside which it is installed."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ("pyproject.toml", "README.md", "LICENSE", "tracescore", "workers")
SCORING = """
import time
from pathlib import Path

from tracescore import TraceScore, scorer
from workers import LIMIT

@scorer(id="brevity")
def brevity(run):
    return 1.0 if len(run.output.text) < LIMIT else 0.5

@scorer(id="patient", version="1")
def patient(run):
    Path("begun").touch()
    while not Path("go").exists():
        time.sleep(0.02)
    return 1.0

app = TraceScore(scorers=[brevity])
patient_app = TraceScore(scorers=[patient], name="patient")
"""


def quiet(*words: str | Path, cwd: Path | None = None) -> None:
    """Run a command that must end well."""
    done = subprocess.run(
        words, cwd=cwd, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONWARNINGS": "ignore"}
    )

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel; from a copy, since setuptools would take over what an older build left in the checkout."""
    source, built = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, source / name)
    pip = (sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps")
    quiet(*pip, "--no-build-isolation", "--wheel-dir", built, source)
    (path,) = built.glob("*.whl")
    return path


@dataclass(frozen=True, kw_only=True, slots=True)
class Project:
    """A user's project, in a folder with a space in its name, with an environment that holds the wheel alone."""

    folder: Path

    def environ(self, extra: dict[str, str]) -> dict[str, str]:
        """Give an environment of nobody's."""
        foreign = ("TRACESCORE_", "OPENAI_", "OTEL_", "PYTHON", "VIRTUAL_ENV")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
        return kept | {"TRACESCORE_APP": "scoring:app", "TRACESCORE_SETTLE_QUIET": "0.3"} | extra

    def run(self, *words: str, program: str = "tracescore", **extra: str) -> str:
        """Run a command that must end well, and give what it printed."""
        argv = [self.folder / ".venv" / "bin" / program, *words]
        done = subprocess.run(
            argv, cwd=self.folder, env=self.environ(extra), capture_output=True, text=True, timeout=180, check=False
        )

        assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stdout + done.stderr
        return done.stdout

    @contextlib.contextmanager
    def started(self, *words: str, **extra: str) -> Generator[tuple[subprocess.Popen[str], dict[str, str]]]:
        """Run a command that goes on; gives its process and its first line of JSON."""
        log = self.folder / f"{words[0]}.log"
        argv = [self.folder / ".venv" / "bin" / "tracescore", *words, "--json"]
        with log.open("w") as errors:
            process = subprocess.Popen(
                argv, cwd=self.folder, env=self.environ(extra), stdout=subprocess.PIPE, stderr=errors, text=True
            )
        stdout: IO[str] | None = process.stdout
        assert stdout is not None
        with process:
            try:
                line = stdout.readline()

                assert line, log.read_text()
                yield process, json.loads(line)
            finally:
                if process.poll() is None:
                    process.kill()

    def ended(self, process: subprocess.Popen[str], words: str) -> None:
        """Check that a command that was told to stop ends well and says nothing of errors."""
        process.communicate(timeout=60)
        said = (self.folder / f"{words}.log").read_text()

        assert (process.returncode, "Traceback" in said) == (0, False), said

    def stop(self, process: subprocess.Popen[str], words: str) -> None:
        """Stop a command as systemd would."""
        process.send_signal(signal.SIGTERM)
        self.ended(process, words)


@pytest.fixture(scope="session")
def project(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Install the wheel beside a project that has packages of the names that ours has in a checkout."""
    folder = tmp_path_factory.mktemp("somebody's") / "agent project"
    for name, content in {
        "scoring.py": SCORING,
        "workers/__init__.py": "LIMIT = 280\n",
        "tests/__init__.py": "raise SystemExit('nobody but their own tests imports this')\n",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    quiet(sys.executable, "-m", "venv", folder / ".venv")
    python = folder / ".venv" / "bin" / "python"
    quiet(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"{wheel}[embedded]")
    return Project(folder=folder)
