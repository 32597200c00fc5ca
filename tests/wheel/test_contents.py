"""What the wheel holds: all that the package needs, and no name that a user may own."""

from __future__ import annotations

import configparser
from email.parser import Parser
from pathlib import Path
from zipfile import ZipFile

from tests.wheel.conftest import ROOT


def sources(folder: Path) -> set[str]:
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_the_wheel_holds_every_file_under_one_name(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        dist_info = {name.partition("/")[0] for name in archive.namelist()} - {"tracescore"}
        (folder,) = dist_info
        entry_points = configparser.ConfigParser()
        entry_points.read_string(archive.read(f"{folder}/entry_points.txt").decode())
        metadata = Parser().parsestr(archive.read(f"{folder}/METADATA").decode())
        licenses = [name for name in archive.namelist() if name.startswith(f"{folder}/licenses/")]

    assert names == {f"tracescore/{name}" for name in sources(ROOT / "tracescore")} | {
        f"tracescore/workers/{name}" for name in sources(ROOT / "workers")
    }
    assert folder == f"tracescore-{metadata['Version']}.dist-info"
    assert licenses == [f"{folder}/licenses/LICENSE"]
    assert {section: dict(entry_points[section]) for section in entry_points.sections()} == {
        "console_scripts": {"tracescore": "tracescore.cli:main"},
        "tracescore.wake": {"celery": "tracescore.workers.wake:connect"},
    }
    assert set(metadata.get_all("Provides-Extra", [])) == {"embedded", "postgres", "tokens", "dev", "fuzz"}
    assert metadata["Requires-Python"] == ">=3.11"
