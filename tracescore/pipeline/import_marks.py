"""How far files were imported that an import did not reach the end of."""

from __future__ import annotations

import contextlib
import hashlib
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import orjson

from tracescore.errors import InputError
from tracescore.sources import HEAD, Unit, opened

_STEP = 1 << 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Mark:
    """The end of the last request of a file that is stored."""

    offset: int
    """In the unpacked content."""
    number: int
    tail_size: int
    tail: str
    """Hash of the bytes before the offset: two files may begin alike."""


class ImportMarks:
    """Marks kept in one small file; a file is known by what it holds, so that it may be renamed, moved or packed.

    A mark is there only between an import's first commit and its end: what was read whole is read whole again, and
    adds nothing.
    """

    def __init__(self, path: Path, *, project: str) -> None:
        self._path = path
        self._project = project

    @classmethod
    def beside(cls, store: str, *, project: str) -> ImportMarks:
        """Keep the marks in a store's folder; those of a database in the user's folder for such state."""
        if "://" not in store:
            return cls(Path(store).expanduser() / "imports.marks", project=project)
        state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
        name = hashlib.sha256(store.encode()).hexdigest()[:16]  # an address may hold a password
        return cls(state / "tracescore" / f"imports-{name}.marks", project=project)

    def key(self, path: Path) -> str:
        """Name a file by how its content begins.

        Raises:
            InputError: it cannot be read.
        """
        with opened(path) as file:
            try:
                head = file.content.read(HEAD)
            except (OSError, EOFError):  # reading it for good will say so
                head = b""
        return f"{self._project}/{hashlib.sha256(head).hexdigest()[:32]}"

    def find(self, key: str, path: Path) -> Mark | None:
        """Give a file's mark, where it is the file that the mark was set in."""
        kept = self._load().get(key)
        with contextlib.suppress(InputError, TypeError, OSError, EOFError):
            mark = Mark(**kept) if isinstance(kept, dict) else None
            if mark is not None and mark.offset > 0 and mark.tail == _tail_at(path, mark):
                return mark
        return None

    def keep(self, key: str, unit: Unit) -> None:
        """Mark a file behind a request of it; where that cannot be written, a stop costs reading it again."""
        digest = hashlib.sha256(unit.tail).hexdigest()
        mark = Mark(offset=unit.end, number=unit.number, tail_size=len(unit.tail), tail=digest)
        self._save({**self._load(), key: asdict(mark)})

    def forget(self, key: str) -> None:
        """Take a file's mark away."""
        kept = self._load()
        if kept.pop(key, None) is not None:
            self._save(kept)

    def _load(self) -> dict[str, Any]:
        with contextlib.suppress(OSError, orjson.JSONDecodeError):
            kept: Any = orjson.loads(self._path.read_bytes())
            if isinstance(kept, dict):
                return cast("dict[str, Any]", kept)
        return {}

    def _save(self, kept: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            beside = self._path.with_suffix(f".{os.getpid()}.tmp")
            beside.write_bytes(orjson.dumps(kept))
            beside.replace(self._path)


def _tail_at(path: Path, mark: Mark) -> str:
    with opened(path) as file:
        left = mark.offset - mark.tail_size
        while left > 0 and (skipped := len(file.content.read(min(_STEP, left)))):
            left -= skipped
        return hashlib.sha256(file.content.read(mark.tail_size)).hexdigest()
