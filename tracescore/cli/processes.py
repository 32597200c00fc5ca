"""The processes of ``tracescore up``: broker, server and workers, started, watched and stopped in order."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from tracescore.errors import TracescoreError

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
SETTLED_AFTER = 30.0
"""A process that lived as long as this may be started again without a pause."""
WRONG_SETTINGS = 2
"""The exit code of a command that cannot work as it was asked: starting it again would not help."""
WATCH_EVERY = 0.1

# On Linux a child gets SIGTERM when its supervisor is gone, however it went; the setting survives an exec.
_BOOT = """
import os, signal, sys
if sys.platform == "linux":
    import ctypes
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)
    if os.getppid() != int(sys.argv[1]):
        sys.exit("tracescore: the supervisor is gone")
"""
_EXEC = _BOOT + "os.execv(sys.argv[2], sys.argv[2:])"
_COMMAND = _BOOT + "from tracescore.cli import main\nsys.exit(main(sys.argv[2:]))"


class ProcessesFailed(TracescoreError):
    """The processes could not be started, or one of them cannot work; ``exit_code`` is what the command ends with."""

    def __init__(self, message: str, *, exit_code: int = 1) -> None:
        super().__init__(message)
        self.exit_code = exit_code


@dataclass(kw_only=True, slots=True)
class Child:
    """One process to keep running.

    Args:
        name: how it is called in messages and log files.
        argv: its command line.
        grace: seconds that it gets to end by itself.
        folder: where it runs; the current folder unless given.
        prepare: called before each start with the number of quick deaths in a row.
        started: called after each start with its process id.
        is_ready: asked until it holds; the next stage waits for it.
    """

    name: str
    argv: Sequence[str]
    grace: float = 10.0
    environ: Mapping[str, str] = field(default_factory=dict)
    folder: Path | None = None
    prepare: Callable[[int], None] | None = None
    started: Callable[[int], None] | None = None
    is_ready: Callable[[], bool] = lambda: True
    process: subprocess.Popen[bytes] | None = None
    began: float = 0.0
    quick_deaths: int = 0
    start_at: float = 0.0

    @property
    def running(self) -> bool:
        """Tell whether the process is there."""
        return self.process is not None and self.process.poll() is None


def command(*words: str) -> list[str]:
    """Give the command line of a ``tracescore`` command run as a child, whatever is on the path."""
    return [sys.executable, "-c", _COMMAND, str(os.getpid()), *words]


def program(argv: Sequence[str]) -> list[str]:
    """Give the command line of a foreign program run as a child."""
    return [sys.executable, "-I", "-S", "-c", _EXEC, str(os.getpid()), *argv]


class Supervisor:
    """Start stages of processes one after the other, start again what dies, and stop all in ``stop_order``.

    A thread of its own starts and watches them: a child of a thread gets its end told when that thread ends.

    Args:
        stages: processes by stage; a stage starts when all of the one before are ready.
        stop_order: the names, first to stop first; several in one tuple stop together.
        say: told in one line of each death and start.
        logs: a folder for the processes' output; theirs is ours unless given.
    """

    def __init__(
        self,
        stages: Sequence[Sequence[Child]],
        *,
        stop_order: Sequence[Sequence[str]],
        say: Callable[[str], None],
        logs: Path | None = None,
    ) -> None:
        self._stages = stages
        self._children = {child.name: child for stage in stages for child in stage}
        self._stop_order = stop_order
        self._say = say
        self._logs = logs
        self._stopping = threading.Event()
        self._ready = threading.Event()
        self._ended = threading.Event()
        self._failure: ProcessesFailed | None = None
        self._thread = threading.Thread(target=self._run, name="tracescore-supervisor")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def wait_ready(self) -> None:
        """Wait until all stages are ready.

        Raises:
            ProcessesFailed: one cannot work.
        """
        while not self._ready.wait(WATCH_EVERY):
            if self._ended.is_set():
                break
        self._check()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the processes are stopped; False when the time is up first.

        Raises:
            ProcessesFailed: one cannot work, and so the others were stopped.
        """
        ended = self._ended.wait(timeout)
        self._check()
        return ended

    def ask_to_stop(self) -> None:
        """Have the processes stopped; returns at once. Fit for a signal's handler; asked twice, it waits for nobody."""
        if self._stopping.is_set():
            for child in self._children.values():
                child.grace = 0.0
        self._stopping.set()

    def stop(self) -> None:
        """Stop the processes in order and wait for it."""
        self._stopping.set()
        self._thread.join()

    def pids(self) -> dict[str, int]:
        """Give the process ids of what is running, by name."""
        return {name: child.process.pid for name, child in self._children.items() if child.process and child.running}

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            for stage in self._stages:
                for child in stage:
                    self._start(child)
                while not all(child.running and child.is_ready() for child in stage):
                    self._watch()
                    if self._stopping.wait(WATCH_EVERY / 2):
                        return
            self._ready.set()
            while not self._stopping.wait(WATCH_EVERY):
                self._watch()
        except ProcessesFailed as error:
            self._failure = error
        except TracescoreError as error:
            self._failure = ProcessesFailed(str(error))
        except OSError as error:
            self._failure = ProcessesFailed(f"a process cannot be started: {error}")
        finally:
            self._stop_all()
            self._ended.set()

    def _watch(self) -> None:
        """Start again what has died."""
        now = time.monotonic()
        for child in self._children.values():
            if child.process is None or child.running:
                continue
            if not child.start_at:
                self._note_death(child, now)
            if now >= child.start_at:
                self._start(child)

    def _note_death(self, child: Child, now: float) -> None:
        assert child.process is not None
        code = child.process.returncode
        if code == WRONG_SETTINGS:
            said = self._last_line(child) or f"{child.name} cannot work with these settings"
            raise ProcessesFailed(said, exit_code=WRONG_SETTINGS)
        child.quick_deaths = 0 if now - child.began > SETTLED_AFTER else child.quick_deaths + 1
        pause = 0.0 if not child.quick_deaths else min(FIRST_PAUSE * 2.0 ** (child.quick_deaths - 1), LONGEST_PAUSE)
        child.start_at = now + pause
        how = f"was killed by {_signal_name(-code)}" if code < 0 else f"ended with exit code {code}"
        self._say(f"{child.name} {how}; starting it again{f' in {pause:g} s' if pause else ''}")
        if code > 0 and (said := self._last_line(child)):
            self._say(f"  {said}")

    def _start(self, child: Child) -> None:
        if child.prepare is not None:
            child.prepare(child.quick_deaths)
        with self._output(child) as output:
            child.process = subprocess.Popen(
                child.argv,
                cwd=child.folder,
                env={**os.environ, **child.environ},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT if output is not None else None,
                # A terminal's Ctrl-C goes to its whole process group; the order of stopping is ours to keep.
                start_new_session=True,
            )
        child.began = time.monotonic()
        child.start_at = 0.0
        if child.started is not None:
            child.started(child.process.pid)

    @contextlib.contextmanager
    def _output(self, child: Child) -> Generator[IO[bytes] | None, None, None]:
        if self._logs is None:
            yield None
            return
        self._logs.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (self._logs / f"{child.name}.log").open("ab") as file:
            yield file

    def _last_line(self, child: Child) -> str:
        """Give the last that a process wrote, where that went to a file and not to the terminal."""
        if self._logs is None:
            return ""
        lines = (self._logs / f"{child.name}.log").read_text(encoding="utf-8", errors="replace").split("\n")
        return next((f"{child.name}: {line.strip()}" for line in reversed(lines) if line.strip()), "")

    def _stop_all(self) -> None:
        named = {name for names in self._stop_order for name in names}
        for names in (*self._stop_order, tuple(name for name in self._children if name not in named)):
            stopping = [self._children[name] for name in names if name in self._children]
            began = time.monotonic()
            for child in stopping:
                if child.process is not None and child.running:
                    child.process.terminate()
            for child in stopping:
                while child.process is not None and child.running:
                    if time.monotonic() - began > child.grace:
                        self._say(f"{child.name} did not stop within {child.grace:g} s and is killed")
                        child.process.kill()
                        child.process.wait()
                        break
                    time.sleep(0.02)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
