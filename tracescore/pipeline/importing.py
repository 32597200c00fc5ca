"""Take files in: each request of a file as if it had been sent, in order, and where to go on after a stop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from tracescore.errors import InputError
from tracescore.pipeline.import_marks import ImportMarks
from tracescore.pipeline.ingest import Taken, take_logs, take_traces
from tracescore.redaction import Redaction
from tracescore.sources import Opened, Unit, opened, requests_in, units_in, with_companions
from tracescore.store import Store

GROUP_UNITS = 256
GROUP_BYTES = 8 * 1024 * 1024
"""Requests that are stored at once, by number and size: they share their commits."""
KEPT = 1000
"""Of what could not be read, and of what was left out: a file may hold nothing else."""
SUFFIXES = frozenset((".json", ".jsonl", ".ndjson", ".otlp", ".pb", ".binpb", ".proto", ".protobuf", ".bin"))
"""What the names of files in a folder hold: also before a rotation's number or ``.gz``."""


@dataclass(kw_only=True, slots=True)
class Imported:
    """What became of some files so far."""

    requests: int = 0
    spans: int = 0
    """New in the store."""
    logs: int = 0
    known: int = 0
    """Spans and log records that were there already."""
    rejected: int = 0
    resumed: int = 0
    """Files that were gone on with."""
    unreadable: int = 0
    """Files and requests that could not be read."""
    unread: list[str] = field(default_factory=list)
    """File, place and reason of the first of them."""
    notes: list[str] = field(default_factory=list)
    """What was left out of requests that were taken: the first of it."""

    def refuse(self, said: str) -> None:
        """Count what could not be read."""
        self.unreadable += 1
        if len(self.unread) < KEPT:
            self.unread.append(said)

    def note(self, said: str) -> None:
        """Keep what was left out of a request."""
        if len(self.notes) < KEPT:
            self.notes.append(said)


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportProgress:
    """How far an import is."""

    file: str
    read_bytes: int
    total_bytes: int
    imported: Imported


@dataclass(frozen=True, kw_only=True, slots=True)
class FileImport:
    """Where an import goes."""

    store: Store
    project: str
    quiet_ns: int
    redaction: Redaction
    marks: ImportMarks
    on_progress: Callable[[ImportProgress], None]

    async def run(self, files: Sequence[Path]) -> Imported:
        """Take files in, one after the other; the same again adds nothing.

        Raises:
            RedactionError: a rule of the policy raised; what was taken in before is kept, as below.
            StoreUnavailable: what was taken in so far is kept, and the next import goes on from there.
        """
        imported = Imported()
        sizes = [path.stat().st_size if path.is_file() else 0 for path in files]
        before = 0
        for path, size in zip(files, sizes, strict=True):
            try:
                with opened(path) as file:
                    await self._file(path, file, imported, before=before, total=sum(sizes))
            except InputError as error:
                imported.refuse(f"{path}: {error}")
            before += size
        return imported

    async def _file(self, path: Path, file: Opened, imported: Imported, *, before: int, total: int) -> None:
        key = self.marks.key(path)
        mark = self.marks.find(key, path)
        imported.resumed += mark is not None
        start, number = (mark.offset, mark.number) if mark is not None else (0, 0)
        try:
            for group in _groups(units_in(file.content, start=start, number=number)):
                await self._group(path, group, imported)
                if group[-1].number:
                    self.marks.keep(key, group[-1])
                read_bytes = before + file.read_bytes
                self.on_progress(
                    ImportProgress(file=str(path), read_bytes=read_bytes, total_bytes=total, imported=imported)
                )
        except InputError:  # what comes behind cannot be read: the next import looks at all of it again
            self.marks.forget(key)
            raise
        self.marks.forget(key)

    async def _group(self, path: Path, group: Sequence[Unit], imported: Imported) -> None:
        outcomes = await asyncio.gather(*(self._unit(unit) for unit in group))
        for unit, (taken, refused) in zip(group, outcomes, strict=True):
            where = f"{path}: {unit.place}"
            if refused:
                imported.refuse(where + refused)
            for one in taken:
                imported.requests += 1
                imported.spans += one.new_spans
                imported.logs += one.new_logs
                imported.known += one.known
                imported.rejected += one.rejected
                if one.reason:
                    none_kept = one.rejected and not (one.new_spans or one.new_logs or one.known)
                    (imported.refuse if none_kept else imported.note)(where + one.reason)

    async def _unit(self, unit: Unit) -> tuple[list[Taken], str]:
        taken: list[Taken] = []
        try:
            for request in requests_in(unit):
                take = take_traces if request.signal == "traces" else take_logs
                taken.append(
                    await take(
                        self.store,
                        request.body,
                        content_type=request.encoding,
                        project=self.project,
                        quiet_ns=self.quiet_ns,
                        redaction=self.redaction,
                    )
                )
        except InputError as error:
            return taken, str(error)
        return taken, ""


def none_readable(files: Sequence[Path]) -> Imported | None:
    """Say why no request in any file can be read; None as soon as one can."""
    imported = Imported()
    for path in files:
        try:
            with opened(path) as file:
                for unit in units_in(file.content):
                    try:
                        if next(requests_in(unit), None) is not None:
                            return None
                    except InputError as error:
                        imported.refuse(f"{path}: {unit.place}{error}")
        except InputError as error:
            imported.refuse(f"{path}: {error}")
    return imported


def files_in(paths: Sequence[Path]) -> list[Path]:
    """Give the files to take in, each once: those named, and in folders, at any depth, those whose names look like it.

    ``X.logs.json`` beside ``X.json`` is taken along.
    """

    def of(path: Path) -> Iterator[Path]:
        if not path.is_dir():
            yield path
            return
        for found in sorted(path.rglob("*")):
            is_hidden = any(part.startswith(".") for part in found.relative_to(path).parts)
            if not is_hidden and SUFFIXES & {part.lower() for part in found.suffixes} and found.is_file():
                yield found

    return with_companions(chain.from_iterable(of(path) for path in paths))


def _groups(remaining: Iterator[Unit]) -> Iterator[list[Unit]]:
    group: list[Unit] = []
    size = 0
    try:
        for unit in remaining:
            group.append(unit)
            size += len(unit.body)
            if len(group) >= GROUP_UNITS or size >= GROUP_BYTES:
                yield group
                group, size = [], 0
    except InputError:
        # What was read before a file broke off counts.
        if group:
            yield group
        raise
    if group:
        yield group
