"""``tracescore import``: files of spans into the store."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracescore.cli.interrupts import INTERRUPTED
from tracescore.cli.options import FILES_HELP, AsJson, Project, Store, settings

if TYPE_CHECKING:
    from tracescore.pipeline.importing import FileImport, Imported, ImportProgress

PLAIN_EVERY = 5.0
"""How often a line is printed where nobody watches a terminal."""
SHOWN = 20
"""Of what could not be read, and of notes: so many lines."""
UNREADABLE = 2


def import_(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE|FOLDER",
            help=FILES_HELP,
        ),
    ],
    as_json: AsJson = False,
    data: Store = None,
    project: Project = None,
) -> None:
    """Take files of spans into the store, where they are scored as what arrives is.

    Importing again adds nothing, and after a stop goes on where it stopped. Exit code 2: something could not be read
    (the rest is imported all the same).
    """
    from tracescore.cli.opening import has_store
    from tracescore.cli.screen import note, print_json, stop
    from tracescore.errors import StoreUnavailable
    from tracescore.pipeline.import_marks import ImportMarks
    from tracescore.pipeline.importing import FileImport, files_in, none_readable
    from tracescore.redaction import load_redaction
    from tracescore.store import Store as OpenStore

    chosen = settings(store=data, project=project)
    files = files_in(paths)
    if not files:
        stop("nothing to import: no file in there has a name like x.json, x.jsonl or x.pb (also .gz, .zst)", code=2)
    began = time.monotonic()
    if not has_store(chosen.store) and (refused := none_readable(files)):
        _say(refused, files=len(files), seconds=time.monotonic() - began, as_json=as_json)
        stop(f"nothing was imported, and no store was made in {chosen.store!r}", code=UNREADABLE)
    with OpenStore.open(chosen.store) as store:
        draw, end = _screen(silent=as_json)
        so_far: list[Imported] = []

        def show(progress: ImportProgress) -> None:
            so_far[:] = [progress.imported]
            draw(progress)

        job = FileImport(
            store=store,
            project=chosen.project,
            quiet_ns=int(chosen.settle_quiet * 1e9),
            redaction=load_redaction(chosen.redaction),
            marks=ImportMarks.beside(chosen.store, project=chosen.project),
            on_progress=show,
        )
        try:
            imported, has_rules = asyncio.run(_run(job, files))
        except StoreUnavailable as error:
            stop(f"{error}; what was imported so far is kept, and the same command goes on from there")
        except KeyboardInterrupt:
            if as_json and so_far:
                print_json(_as_json(so_far[0], files=len(files)))
            done = _sum(so_far[0], files=len(files), seconds=time.monotonic() - began) if so_far else "nothing yet"
            note(f"tracescore: interrupted: {done}; what was imported is kept, and the same command goes on from there")
            raise typer.Exit(INTERRUPTED) from None
        finally:
            end()
    _say(imported, files=len(files), seconds=time.monotonic() - began, as_json=as_json)
    if imported.spans and not has_rules:
        note(
            "tracescore: no worker has had rules for this store yet; rules score what arrives after they were first "
            "seen, and `tracescore backfill --scorer ID` scores the rest once a worker runs"
        )
    if imported.unreadable:
        raise typer.Exit(UNREADABLE)


async def _run(job: FileImport, files: Sequence[Path]) -> tuple[Imported, bool]:
    imported = await job.run(files)
    return imported, await job.store.control.has_rules()


def _say(imported: Imported, *, files: int, seconds: float, as_json: bool) -> None:
    from tracescore.cli.screen import note, print_json

    for line in (*imported.unread[:SHOWN], *imported.notes[:SHOWN]):
        note(f"tracescore: {line}")
    if imported.unreadable > SHOWN:
        note(f"tracescore: {imported.unreadable - SHOWN} more could not be read (--json lists more of them)")
    if as_json:
        print_json(_as_json(imported, files=files))
    else:
        typer.echo(_sum(imported, files=files, seconds=seconds))


def _as_json(imported: Imported, *, files: int) -> dict[str, object]:
    from dataclasses import asdict

    return {"files": files, **asdict(imported)}


def _sum(imported: Imported, *, files: int, seconds: float) -> str:
    from tracescore.cli.screen import counted

    said = [f"{counted(imported.spans, 'span')} and {counted(imported.logs, 'log record')} new"]
    if imported.known:
        said.append(f"{imported.known} known already")
    if imported.rejected:
        said.append(f"{imported.rejected} rejected")
    if imported.unreadable:
        said.append(f"{imported.unreadable} could not be read")
    if imported.resumed:
        said.append(f"{counted(imported.resumed, 'file')} gone on with")
    return f"{counted(files, 'file')} in {seconds:.1f} s: {', '.join(said)}"


def _screen(*, silent: bool) -> tuple[Callable[[ImportProgress], None], Callable[[], None]]:
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    from tracescore.cli.screen import console, one_line

    out = console(stderr=True)
    if silent or not out.is_terminal:
        return _lines(silent=silent), lambda: None
    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    bar = Progress(TextColumn("{task.fields[file]}"), *columns, TextColumn("{task.fields[said]}"), console=out)
    task = bar.add_task("", total=None, file="", said="")
    bar.start()

    def show(progress: ImportProgress) -> None:
        bar.update(
            task,
            completed=progress.read_bytes,
            total=progress.total_bytes,
            file=one_line(Path(progress.file).name, limit=40),
            said=f"{progress.imported.spans} spans",
        )

    return show, bar.stop


def _lines(*, silent: bool) -> Callable[[ImportProgress], None]:
    from tracescore.cli.screen import note

    began = printed = time.monotonic()

    def show(progress: ImportProgress) -> None:
        nonlocal printed
        now = time.monotonic()
        if silent or now - printed < PLAIN_EVERY:
            return
        printed = now
        rate = progress.read_bytes / (now - began)
        left = (progress.total_bytes - progress.read_bytes) / max(rate, 1)
        note(
            f"{progress.file}: {progress.read_bytes / max(progress.total_bytes, 1):.0%}, "
            f"{progress.imported.spans} spans, {rate / 1e6:.1f} MB/s, {left:.0f} s left"
        )

    return show
