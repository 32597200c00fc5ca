"""What stands in deploy/ runs the commands that there are, with the settings that there are, and lets them drain.

Neither containers nor systemd run here: what can be told without them is told.
"""

from __future__ import annotations

import configparser
import re
import shlex
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.cli.words import SETTINGS, parsed
from tracescore.cli.system import STOP_SECONDS
from tracescore.server.running import DRAIN_SECONDS
from tracescore.settings import Settings

DEPLOY = Path(__file__).parent.parent / "deploy"
UNITS = sorted(DEPLOY.glob("*.service"))
PROGRAM = "/opt/tracescore/.venv/bin/tracescore"
WORKER_GRACE = Settings().drain + STOP_SECONDS
GRACE = {"worker": WORKER_GRACE, "serve": DRAIN_SECONDS, "up": DRAIN_SECONDS + WORKER_GRACE, "migrate": 0}
HARDENING = {
    "DynamicUser": "yes",
    "NoNewPrivileges": "yes",
    "CapabilityBoundingSet": "",
    "PrivateTmp": "yes",
    "ProtectSystem": "strict",
    "ProtectHome": "yes",
    "UMask": "0077",
}


@cache
def compose() -> dict[str, Any]:
    """Read the compose file, its merges merged."""
    return YAML(typ="safe").load(DEPLOY / "compose.yaml")


def unit(path: Path) -> configparser.ConfigParser:
    """Read a unit; a name that is given twice is an error here."""
    read = configparser.ConfigParser(interpolation=None, comment_prefixes=("#", ";"), delimiters=("=",))
    read.optionxform = lambda optionstr: optionstr
    read.read_string(path.read_text(encoding="utf-8"))
    return read


def ours() -> dict[str, Any]:
    """Give the services that run our image."""
    return {name: service for name, service in compose()["services"].items() if "build" in service}


def seconds(text: str) -> float:
    """Read a time of the compose file or a unit."""
    return float("inf") if text == "infinity" else float(text.removesuffix("s"))


def test_the_compose_file_is_one_by_its_specification() -> None:
    checked = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", DEPLOY / "compose.yaml"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert checked.returncode == 0, checked.stdout


def test_the_compose_file_runs_commands_that_there_are() -> None:
    commands = {name: service["command"] for name, service in ours().items()}

    assert {words[0] for words in commands.values()} == {"tracescore"}
    assert {name: parsed(words[1:]) for name, words in commands.items()} == {
        "migrate": ("migrate", {}),
        "serve": ("serve", {"host": "0.0.0.0", "port": 4318}),
        "worker": ("worker", {}),
    }


def test_containers_may_drain() -> None:
    graces = {name: seconds(service.get("stop_grace_period", "0s")) for name, service in ours().items()}

    assert {name for name, grace in graces.items() if grace < GRACE[name]} == set()


def test_what_a_service_waits_for_is_there() -> None:
    services = compose()["services"]
    for name, service in services.items():
        for other, how in service.get("depends_on", {}).items():
            assert other in services, name
            if how["condition"] == "service_healthy":
                assert "healthcheck" in services[other], (name, other)
        volumes = [volume.partition(":")[0] for volume in service.get("volumes", ()) if not volume.startswith("$")]

        assert set(volumes) <= set(compose()["volumes"])


def test_the_image_is_made_of_files_that_there_are() -> None:
    lines = (DEPLOY / "Dockerfile").read_text(encoding="utf-8").splitlines()
    copied = {
        word for line in lines if line.startswith("COPY ") and "--from" not in line for word in line.split()[1:-1]
    }
    let_in = (DEPLOY / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    (command,) = (line.partition(" ")[2] for line in lines if line.startswith("CMD "))

    assert {name for name in copied if not (DEPLOY.parent / name).exists()} == set()
    assert copied == {line[1:] for line in let_in if line.startswith("!")}
    assert command == '["tracescore", "--help"]'


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.stem)
def test_a_unit_runs_a_command_that_there_is_and_lets_it_drain(path: Path) -> None:
    read = unit(path)
    service = dict(read["Service"])
    program, *words = shlex.split(service["ExecStart"])
    name, given = parsed(words)

    assert set(read.sections()) <= {"Unit", "Service", "Install"}
    assert (program, read["Unit"]["Description"][:10]) == (PROGRAM, "tracescore")
    assert (name == "serve") == (given.get("host") == "0.0.0.0")
    assert {key: service.get(key) for key in HARDENING} == HARDENING
    assert service["EnvironmentFile"].removeprefix("-") == "/etc/tracescore/environment"
    if name == "migrate":
        assert (service["Type"], "Restart" in service) == ("oneshot", False)
    else:
        assert seconds(service["TimeoutStopSec"]) >= GRACE[name]
        assert (service["KillMode"], service["Restart"]) == ("mixed", "on-failure")


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.stem)
def test_systemd_finds_nothing_wrong_with_a_unit(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / path.name
    copy.write_text(path.read_text(encoding="utf-8").replace(PROGRAM, shutil.which("true") or ""), encoding="utf-8")
    analyze = shutil.which("systemd-analyze")
    # Where there is no systemd, its sections and commands are checked above all the same.
    said = "" if analyze is None else _said(analyze, "verify", "--man=no", str(copy))

    assert said == ""


def test_every_setting_in_deploy_is_one() -> None:
    named = {
        (path.name, name)
        for path in sorted(DEPLOY.iterdir())
        for name in re.findall(r"\bTRACESCORE_[A-Z_]+", path.read_text(encoding="utf-8"))
    }

    assert {found for found in named if found[1] not in SETTINGS} == set()
    assert ("environment.example", "TRACESCORE_APP") in named


def _said(*words: str) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr
