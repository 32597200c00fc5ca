"""A child process that runs pure functions, so that heavy work does not take this interpreter's lock.

Not ``ProcessPoolExecutor``: its children hold both ends of their queue and outlive a parent that was killed, and they
run the parent's main module again. This child reads its work from stdin, so it ends with its parent however that dies.
"""

from __future__ import annotations

import io
import os
import pickle
import signal
import struct
import subprocess
import sys
from collections.abc import Callable
from threading import Lock
from typing import Any, BinaryIO, TypeVar

from tracescore.errors import TracescoreError

T = TypeVar("T")

_LENGTH = struct.Struct("!Q")
_BOOT = "import sys; sys.path[:] = sys.argv[1:]; from tracescore.pipeline.child import serve; serve()"


class ChildDied(TracescoreError):
    """The child process ended in the middle of its work; the next call starts a new one."""


class ChildProcess:
    """Run module-level functions in one child process, one call at a time; it is started when first needed."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def call(self, function: Callable[..., T], /, *arguments: Any) -> T:
        """Run ``function(*arguments)`` in the child and wait for its result; blocks, so call it off the loop.

        Raises:
            ChildDied: the child was killed or crashed.
        """
        with self._lock:
            if self._process is not None and self._process.poll() is not None:
                self._stop(self._process)  # it died between two calls: this one is not at fault
            process = self._process or self._start()
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                _send(process.stdin, (function, arguments))
                ok, value = _receive(process.stdout)
            except (OSError, EOFError) as error:
                code = self._stop(process)
                raise ChildDied(f"the assembly process ended with {code} while running {function.__name__}") from error
            except BaseException:
                self._stop(process)  # its answer may still be on its way: the pipe cannot be used again
                raise
        if not ok:
            raise value
        return value

    @property
    def pid(self) -> int | None:
        """Give the child's process id, None while there is none."""
        return self._process.pid if self._process else None

    def close(self) -> None:
        """End the child; a call in progress fails with ``ChildDied``."""
        process = self._process
        if process is not None and process.poll() is None:
            process.kill()
        with self._lock:
            if self._process is not None:
                self._stop(self._process)

    def _start(self) -> subprocess.Popen[bytes]:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _BOOT, *sys.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        return self._process

    def _stop(self, process: subprocess.Popen[bytes]) -> int:
        self._process = None
        process.kill()
        for stream in (process.stdin, process.stdout):
            try:
                assert stream is not None
                stream.close()
            except OSError:  # unsent bytes of a broken pipe
                pass
        return process.wait()


def serve() -> None:
    """Answer calls until stdin ends: the child's main."""
    # A terminal's Ctrl-C and a service manager's SIGTERM reach the whole group; the parent still has work to finish.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever prints must not write into the answers
    while True:
        try:
            function, arguments = _receive(requests)
        except EOFError:
            return
        try:
            answer = (True, function(*arguments))
        except Exception as error:  # noqa: BLE001 - raised again in the parent
            answer = (False, error)
        try:
            _send(answers, answer)
        except BrokenPipeError:
            return


def _send(stream: Any, value: object) -> None:
    try:
        body = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        # Only answers can be unpicklable: an exception that holds a live object.
        body = pickle.dumps((False, TracescoreError(f"{value!r:.200}: {error}")))
    stream.write(_LENGTH.pack(len(body)))
    stream.write(body)
    stream.flush()


def _receive(stream: BinaryIO | io.BufferedReader | Any) -> Any:
    (length,) = _LENGTH.unpack(_exactly(stream, _LENGTH.size))
    return pickle.loads(_exactly(stream, length))


def _exactly(stream: Any, size: int) -> bytes:
    body: bytes = stream.read(size)
    if len(body) < size:
        raise EOFError("the other end is gone")
    return body
