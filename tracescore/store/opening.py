"""Find, check, create and migrate a folder's store before it is used."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sqlalchemy.exc import DBAPIError

from tracescore.errors import StoreError
from tracescore.store import migrate, sqlite
from tracescore.store.filelock import hold
from tracescore.store.sqlite import SQLiteFile

FILES = {"spans": "spans.db", "work": "work.db"}
# A page of 4 KB holds one span of 2-3 KB, and ingest takes twice as long; where rows are small and indexes many, a
# larger page is more to write for each.
_PAGE_SIZES = {"spans": 16384, "work": 8192}
_LOCK = "migrate.lock"


def open_folder(location: str | Path, *, create: bool) -> Mapping[str, SQLiteFile]:
    """Give the files of a store, each ours and of this release's schema.

    Raises:
        StoreError: there is none and ``create`` is False, it is not a store, or it cannot be used.
    """
    sqlite.check_version()
    folder = _folder(location)
    if not create and not all((folder / name).exists() for name in FILES.values()):
        raise StoreError(f"no store at {folder}: start `tracescore up` there, or check TRACESCORE_STORE")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # what agents were asked is for nobody else
    except OSError as error:
        raise StoreError(f"cannot make the store's folder {folder}: {error.strerror}; give another one") from error
    files = {name: SQLiteFile(path=folder / file, page_size=_PAGE_SIZES[name]) for name, file in FILES.items()}
    if not all(_ready(name, file) for name, file in files.items()):
        _prepare(folder, files)
    return files


def migrate_folder(location: str | Path) -> bool:
    """Bring a folder's store to this release's schema; tell whether there was anything to do.

    Raises:
        StoreError: there is none, it is not a store, or it cannot be used.
    """
    folder = _folder(location)
    paths = {name: folder / file for name, file in FILES.items()}
    current = all(
        path.exists() and _ready(name, SQLiteFile(path=path, page_size=_PAGE_SIZES[name]))
        for name, path in paths.items()
    )
    open_folder(location, create=False)
    return not current


def _folder(location: str | Path) -> Path:
    folder = Path(location).expanduser()
    if folder.exists() and not folder.is_dir():
        raise StoreError(f"{folder} is a file: a store is a folder, give another path")
    return folder.absolute()


def _prepare(folder: Path, files: Mapping[str, SQLiteFile]) -> None:
    try:
        with hold(folder / _LOCK):
            for name, file in files.items():
                if not _ready(name, file):  # another process may have been first
                    _bring_up(name, file)
    except OSError as error:
        raise StoreError(f"cannot write in the store's folder {folder}: {error.strerror}; give another one") from error


def _ready(name: str, file: SQLiteFile) -> bool:
    kind = sqlite.identify(file.path)
    if kind == "foreign":
        raise StoreError(f"{file.path} is a database of something else: give another folder")
    if kind == "new":
        return False
    engine = file.engine(writes=False)
    try:
        with engine.connect() as connection:
            return not migrate.needs_upgrade(connection, name, str(file.path))
    except DBAPIError as error:
        raise file.explain(error) or error from error
    finally:
        engine.dispose()


def _bring_up(name: str, file: SQLiteFile) -> None:
    if sqlite.identify(file.path) == "new":
        sqlite.create(file)
    engine = file.engine(writes=True)
    try:
        with engine.connect() as connection:
            file.begin_write(connection)
            try:
                migrate.upgrade(connection, name)
                connection.exec_driver_sql("COMMIT")
            finally:
                file.roll_back(connection)
    except DBAPIError as error:
        raise file.explain(error) or error from error
    finally:
        engine.dispose()
