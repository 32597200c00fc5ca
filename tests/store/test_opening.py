from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import MetaData, create_engine

from tests.store.rows import NOW, span_row
from tracescore import store as store_package
from tracescore.bridge import run_sync
from tracescore.errors import StoreError
from tracescore.store import Store
from tracescore.store.migrate import HEADS
from tracescore.store.schema import SPANS, WORK

MIGRATIONS = Path(str(store_package.__file__)).parent / "migrations"
TABLES = pytest.mark.parametrize(("name", "tables"), [("spans", SPANS), ("work", WORK)])


@pytest.fixture
def _fresh_stores_are_copied() -> None:
    """Here stores are made as users' are, not copied."""


def test_a_store_survives_being_closed(location: str) -> None:
    with Store.open(location) as store:
        run_sync(store.spans.ingest("default", [span_row()], (), now_ns=NOW, quiet_ns=1))
    with Store.open(location, create=False) as store:
        assert run_sync(store.spans.trace_counts(now_ns=NOW)).spans == 1


def test_what_is_acknowledged_survives_a_power_cut(folder: str) -> None:
    with Store.open(folder) as store:
        modes = run_sync(
            store.spans._database.write(
                lambda connection: [
                    connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("journal_mode", "synchronous")
                ]
            )
        )

    assert modes == ["wal", 2]


def test_a_missing_store_is_not_made_unless_asked_for(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"no store at .*nowhere: start `tracescore up`"):
        Store.open(tmp_path / "nowhere", create=False)

    assert not (tmp_path / "nowhere").exists()


def test_a_file_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    with pytest.raises(StoreError, match=r"file is a file: a store is a folder"):
        Store.open(tmp_path / "file")
    with pytest.raises(StoreError, match="cannot make the store's folder"):
        Store.open(tmp_path / "file" / "below")


@pytest.mark.skipif(not Path("/proc/version").exists(), reason="a folder where not even root can write")
def test_a_folder_that_cannot_be_written_is_said() -> None:
    with pytest.raises(StoreError, match=r"cannot (make|write in) the store's folder /proc"):
        Store.open("/proc/tracescore")
    with pytest.raises(StoreError, match=r"cannot write in the store's folder /proc"):
        Store.open("/proc")


def test_a_file_that_is_no_database_is_said(tmp_path: Path) -> None:
    (tmp_path / "work.db").write_bytes(b"this is no database " * 1000)
    with pytest.raises(StoreError, match=r"work\.db is damaged or no database"):
        Store.open(tmp_path)

    assert (tmp_path / "work.db").read_bytes().startswith(b"this is no database")


def test_another_programs_database_is_left_alone(tmp_path: Path) -> None:
    foreign = sqlite3.connect(tmp_path / "spans.db")
    foreign.execute("CREATE TABLE theirs (x)")
    foreign.close()
    with pytest.raises(StoreError, match=r"spans\.db is a database of something else"):
        Store.open(tmp_path)


def test_other_kinds_of_store_are_refused_without_their_password() -> None:
    with pytest.raises(StoreError, match="give a folder") as caught:
        Store.open("mysql://user:secret@host/db")

    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("name", ["a % folder", "with 'quotes' and \"more\"", "ünïcödé 漢字", "semi;colon #?&"])
def test_a_folder_may_have_any_name(tmp_path: Path, name: str) -> None:
    with Store.open(tmp_path / name) as store:
        assert run_sync(store.jobs.counts())["pending"] == 0
    assert {path.name for path in (tmp_path / name).iterdir()} == {"spans.db", "work.db", "migrate.lock"}


def test_four_processes_may_open_a_fresh_folder_at_once(folder: str) -> None:
    code = f"from tracescore.store import Store; Store.open({folder!r}).close()"
    children = [subprocess.Popen([sys.executable, "-W", "error", "-c", code], stderr=subprocess.PIPE) for _ in range(4)]
    errors = [child.communicate()[1] for child in children]

    assert errors == [b""] * 4
    assert [child.returncode for child in children] == [0] * 4


@pytest.mark.parametrize(("found", "opens"), [("0003", True), ("0004", False)])
def test_a_schema_one_release_newer_is_used_and_a_later_one_refused(folder: str, found: str, opens: bool) -> None:
    Store.open(folder).close()
    database = sqlite3.connect(Path(folder) / "work.db")
    database.execute("UPDATE alembic_version_work SET version_num = ?", (found,))
    database.commit()
    database.close()
    if opens:
        Store.open(folder).close()
    else:
        with pytest.raises(StoreError, match="newer tracescore"):
            Store.open(folder)


@TABLES
def test_migrations_make_the_schema(folder: str, name: str, tables: MetaData) -> None:
    Store.open(folder).close()
    engine = create_engine(f"sqlite:///{folder}/{name}.db")
    with engine.connect() as connection:
        options = {"version_table": f"alembic_version_{name}"}
        differences = compare_metadata(MigrationContext.configure(connection, opts=options), tables)
    engine.dispose()

    assert differences == []


@TABLES
def test_the_head_is_the_newest_revision(name: str, tables: MetaData) -> None:
    assert tables.tables
    assert ScriptDirectory(str(MIGRATIONS / name)).get_heads() == [HEADS[name]]


def test_an_open_store_needs_no_alembic(location: str) -> None:
    Store.open(location).close()
    code = "import sys, tracescore.store as s; s.Store.open(sys.argv[1]).close(); print('alembic' in sys.modules)"
    output = subprocess.run([sys.executable, "-c", code, location], capture_output=True, text=True, check=True).stdout

    assert output == "False\n"
