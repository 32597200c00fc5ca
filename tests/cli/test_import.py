"""``tracescore import``: files into the store, twice without a second row, on from where it stopped."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.cli.conftest import SCRIPT, TRACES, InProcess, clean_environ
from tests.exporter.agents import SECRET
from tests.otel.requests import TRACE_ID, as_protobuf, log, logs, span, traces
from tests.sources.langfuse import export
from tests.waiting import wait_until
from tracescore.bridge import run_sync
from tracescore.cli import importing as cli_importing
from tracescore.pipeline import importing
from tracescore.pipeline.import_marks import ImportMarks
from tracescore.pipeline.importing import FileImport, ImportProgress
from tracescore.redaction import Redaction
from tracescore.sources import opened, units_in
from tracescore.store import Store


def line(number: int) -> bytes:
    return orjson.dumps(traces(span({"n": number}, traceId=f"{number + 1:032x}", spanId=f"{number + 1:016x}")))


def lines(count: int) -> bytes:
    return b"\n".join(line(number) for number in range(count)) + b"\n"


def counted(store: Path, project: str = "default") -> int:
    with Store.open(store) as opened:
        return run_sync(opened.spans.trace_counts(project)).traces


def test_a_folder_is_imported_whole_and_twice_adds_nothing(in_process: InProcess, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    (folder / "older").mkdir(parents=True)
    (folder / "traces.json").write_bytes(lines(3))
    (folder / "older" / "traces-2026-01-01T00-00-00.000.json.gz").write_bytes(gzip.compress(lines(2)))
    (folder / "older" / "traces.json.1").write_bytes(line(7))
    (folder / "one.pb").write_bytes(as_protobuf(logs(log({"content": "hello"}))))
    (folder / "langfuse.json").write_bytes(orjson.dumps(export()))
    (folder / "notes.txt").write_text("no spans")
    (folder / ".hidden").mkdir()
    (folder / ".hidden" / "x.json").write_bytes(line(9))
    first = in_process("import", folder, "--data", tmp_path / "store", "--json")
    again = in_process("import", folder, "--data", tmp_path / "store")

    assert first.code == 0
    assert first.json == {
        "files": 5, "requests": 9, "spans": 8, "logs": 1, "known": 2, "rejected": 0, "resumed": 0,
        "unreadable": 0, "unread": [], "notes": [],
    }  # fmt: skip
    assert "no worker has had rules for this store yet" in first.err
    assert "tracescore backfill --scorer ID" in first.err
    assert "0 spans and 0 log records new, 11 known already" in again.out
    assert not again.err
    assert counted(tmp_path / "store") == 6


def test_without_a_readable_file_no_store_is_made(in_process: InProcess, tmp_path: Path) -> None:
    (tmp_path / "notes.json").write_text("dear diary")
    (tmp_path / "empty.json").write_bytes(b"")
    ended = in_process("import", "x.json", "notes.json", "empty.json", "--data", "typo", "--json")

    assert (ended.code, ended.json["unreadable"]) == (2, 3)
    assert "tracescore: x.json: no such file\n" in ended.err
    assert ended.err.endswith("nothing was imported, and no store was made in 'typo'\n")
    assert not (tmp_path / "typo").exists()


def test_the_log_file_beside_a_named_one_is_taken_along(in_process: InProcess, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_bytes(line(0))
    (tmp_path / "x.logs.json").write_bytes(orjson.dumps(logs(log({"content": "hello"}))))
    ended = in_process("import", tmp_path / "x.json", "--data", tmp_path / "store", "--json")

    assert (ended.json["files"], ended.json["spans"], ended.json["logs"]) == (2, 1, 1)


def test_an_interrupted_import_says_what_it_took_in(
    in_process: InProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ctrl_c(self: ImportMarks, key: str) -> None:
        raise KeyboardInterrupt

    (tmp_path / "x.json").write_bytes(lines(2))
    monkeypatch.setattr(ImportMarks, "forget", ctrl_c)  # the last thing that is done to a file
    ended = in_process("import", tmp_path / "x.json", "--data", tmp_path / "store")

    assert (ended.code, ended.out, len(ended.err.splitlines())) == (130, "", 1)
    assert "2 spans and 0 log records new; what was imported is kept" in ended.err


def test_a_secret_is_not_stored(in_process: InProcess, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_bytes(orjson.dumps(traces(span({"note": f"the key is {SECRET}"}))))
    in_process("import", tmp_path / "x.json", "--data", tmp_path / "store")
    with Store.open(tmp_path / "store") as store:
        stored = run_sync(store.spans.load_trace("default", TRACE_ID))

    assert stored is not None
    assert b"the key is " in stored.spans[0].copies[0]
    assert SECRET.encode() not in stored.spans[0].copies[0]


def test_the_project_is_whose_rows_they_are(in_process: InProcess, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_bytes(lines(2))
    in_process("import", tmp_path / "x.json", environ={"TRACESCORE_STORE": "s", "TRACESCORE_PROJECT": "shop"})

    assert (counted(tmp_path / "s", "shop"), counted(tmp_path / "s")) == (2, 0)


def test_what_cannot_be_read_is_named_by_line_and_the_rest_is_imported(in_process: InProcess, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(line(0) + b"\n{broken\n\n" + line(1) + b"\n[1]\n" + orjson.dumps(traces(span(traceId="?"))))
    ended = in_process("import", path, tmp_path / "none.json", "--data", tmp_path / "store")
    said = [text.partition(f"{tmp_path}/")[2] for text in ended.err.splitlines()]

    assert ended.code == 2
    assert [text.rpartition(": ")[0][:20].partition(": it")[0] for text in said[:2]] == [
        "x.jsonl: line 2",
        "x.jsonl: line 5",
    ]
    assert said[2].startswith("x.jsonl: line 6: ")
    assert said[3] == "none.json: no such file"
    assert "2 spans and 0 log records new, 1 rejected, 4 could not be read" in ended.out


def test_a_file_of_nothing_else_is_counted_and_only_begun_to_be_listed(in_process: InProcess, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_bytes(line(0) + b"\n" + b"{broken\n" * 1100)
    ended = in_process("import", tmp_path / "x.jsonl", "--data", tmp_path / "store")
    as_json = in_process("import", tmp_path / "x.jsonl", "--data", tmp_path / "store", "--json")

    assert (ended.code, len(ended.err.splitlines())) == (2, 22)
    assert "1080 more could not be read" in ended.err
    assert (as_json.json["unreadable"], len(as_json.json["unread"])) == (1100, 1000)


def test_a_store_that_cannot_be_used_is_one_line(in_process: InProcess, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_bytes(lines(1))
    (tmp_path / "file").write_text("")
    ended = in_process("import", tmp_path / "x.json", "--data", tmp_path / "file")
    empty = in_process("import", tmp_path / "file", tmp_path, "--data", tmp_path / "store")

    assert (ended.code, "is a file" in ended.err) == (1, True)
    assert (empty.code, "file: is empty" in empty.err) == (2, True)


class Killed(Exception):
    """The end of a process, where a test looks on."""


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_after_a_stop_it_goes_on_where_it_stopped(
    pack: Any, in_process: InProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "GROUP_UNITS", 4)
    path, store = tmp_path / "x.json", tmp_path / "store"
    path.write_bytes(pack(lines(10)))

    def die(progress: ImportProgress) -> None:
        if progress.imported.requests == 8:
            raise Killed

    with Store.open(store) as opened:
        job = FileImport(
            store=opened,
            project="default",
            quiet_ns=0,
            redaction=Redaction(),
            marks=ImportMarks.beside(str(store), project="default"),
            on_progress=die,
        )
        with pytest.raises(Killed):
            run_sync(job.run([path]))
    path.rename(tmp_path / "rotated.json.1")
    ended = in_process("import", tmp_path / "rotated.json.1", "--data", store, "--json")

    assert {key: ended.json[key] for key in ("requests", "spans", "known", "resumed")} == {
        "requests": 2, "spans": 2, "known": 0, "resumed": 1,
    }  # fmt: skip
    assert in_process("import", tmp_path / "rotated.json.1", "--data", store, "--json").json["known"] == 10


def test_a_file_that_only_begins_like_a_marked_one_is_read_from_its_start(tmp_path: Path) -> None:
    head = line(0) + b" " * 5000 + b"\n"
    marked, other = tmp_path / "a.json", tmp_path / "b.json"
    marked.write_bytes(head + line(1) + b"\n")
    other.write_bytes(head + line(2) + b"\n")
    marks = ImportMarks(tmp_path / "marks.json", project="default")
    with opened(marked) as file:
        marks.keep(marks.key(marked), list(units_in(file.content))[-1])

    assert marks.key(marked) == marks.key(other)
    assert marks.find(marks.key(marked), marked) is not None
    assert marks.find(marks.key(other), other) is None


def test_a_killed_import_loses_nothing_and_repeats_little(in_process: InProcess, tmp_path: Path) -> None:
    path, store = tmp_path / "x.json", tmp_path / "store"
    path.write_bytes(lines(4_000))
    child = subprocess.Popen(
        [SCRIPT, "import", path, "--data", store],
        env=clean_environ(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_until((store / "imports.marks").exists, description="the first mark")
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    ended = in_process("import", path, "--data", store, "--json")

    assert (ended.code, ended.json["resumed"]) == (0, 1)
    assert 0 < ended.json["requests"] < 4_000
    assert ended.json["known"] <= 2 * importing.GROUP_UNITS
    assert counted(store) == 4_000
    assert orjson.loads((store / "imports.marks").read_bytes()) == {}


def test_a_runs_file_of_any_form_is_shown(in_process: InProcess, tmp_path: Path) -> None:
    packed = tmp_path / "x.json.gz"
    source = TRACES / "openinference_openai_agents" / "chat_tool_call.json"
    packed.write_bytes(gzip.compress(source.read_bytes()))
    (tmp_path / "langfuse.json").write_bytes(orjson.dumps(export()))

    assert in_process("runs", packed, "--json").json == in_process("runs", source, "--json").json
    assert in_process("runs", tmp_path / "langfuse.json", "--json").json[0]["agent_name"] == "guide"


def test_progress_without_a_terminal_is_a_line_now_and_then(
    in_process: InProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli_importing, "PLAIN_EVERY", 0.0)
    (tmp_path / "x.json").write_bytes(lines(3))
    said = in_process("import", tmp_path / "x.json", "--data", tmp_path / "store").err

    assert f"{tmp_path / 'x.json'}: 100%, 3 spans, " in said
    assert "MB/s, 0 s left" in said


def test_marks_of_a_database_lie_in_the_users_folder_and_name_no_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "x.json").write_bytes(lines(2))
    marks = ImportMarks.beside("postgresql://me:secret@db/spans", project="default")
    with opened(tmp_path / "x.json") as file:
        marks.keep(marks.key(tmp_path / "x.json"), next(units_in(file.content)))
    [kept] = (tmp_path / "state" / "tracescore").iterdir()

    assert "secret" not in kept.name
    assert marks.find(marks.key(tmp_path / "x.json"), tmp_path / "x.json") is not None
