"""Files opened for reading, whatever they are packed in."""

from __future__ import annotations

import gzip
import io
import os
import stat
import zlib
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from tracescore.errors import InputError

GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_KINDS = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Opened:
    """A file that can be read: its content as it was before it was packed, and how far the file itself is read."""

    content: IO[bytes]
    size: int
    """Bytes of the file as it lies there."""
    _raw: IO[bytes]

    @property
    def read_bytes(self) -> int:
        """Give how much of ``size`` was read so far."""
        return min(self.size, self._raw.tell())


@contextmanager
def opened(path: Path) -> Generator[Opened]:
    """Open a file that may be packed with gzip or zstd.

    Raises:
        InputError: it is missing, or no ordinary file: what never ends and what waits for a writer is not begun.
    """
    if str(path) == "-":
        raise InputError("standard input is not read: write it to a file and name that")
    with ExitStack() as stack:
        try:
            _check_kind(path.stat().st_mode)
            raw = stack.enter_context(path.open("rb"))
            head = raw.read(len(ZSTD_MAGIC))
            raw.seek(0)
        except FileNotFoundError as error:
            raise InputError("no such file") from error
        except (OSError, ValueError) as error:  # the latter for a name with a NUL in it
            raise InputError(f"cannot be read: {getattr(error, 'strerror', None) or error}") from error
        content: IO[bytes] = raw
        if head.startswith(GZIP_MAGIC):
            content = cast("IO[bytes]", stack.enter_context(gzip.open(raw, "rb")))
        elif head == ZSTD_MAGIC:
            import zstandard

            unpacked = zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True, closefd=False)
            content = stack.enter_context(io.BufferedReader(cast("Any", unpacked)))
        yield Opened(content=content, size=os.fstat(raw.fileno()).st_size, _raw=raw)


@contextmanager
def unpacking() -> Generator[None]:
    """Say what went wrong while a file's content is read in words.

    Raises:
        InputError: the file is corrupt or cut off, or its disk does not give it.
    """
    import zstandard

    try:
        yield
    except EOFError as error:
        raise InputError("it is gzip that was cut off") from error
    except (zlib.error, gzip.BadGzipFile, zstandard.ZstdError) as error:
        raise InputError(f"what it is packed in is corrupt: {error}") from error
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}") from error


def _check_kind(mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise InputError("is a directory: name the files in it")
    for is_kind, name in _KINDS:
        if is_kind(mode):
            raise InputError(f"is {name}, not a file: write what comes from it to a file and name that")
