"""Request bodies inflated up to a limit, and not a byte further."""

from __future__ import annotations

import zlib
from typing import Any

from tracescore.errors import InputError
from tracescore.otel import TooLarge
from tracescore.server.quoting import quoted

_decompressor: Any = zlib.decompressobj
_errors: tuple[Any, ...] = (zlib.error,)
try:
    from isal import isal_zlib
except ImportError:  # not built for this Python: half the speed
    pass
else:
    _decompressor = isal_zlib.decompressobj
    _errors = (zlib.error, isal_zlib.IsalError)

_GZIP = 31
_ZLIB = 15
_RAW_DEFLATE = -15
_GZIP_MAGIC = b"\x1f\x8b"


class UnsupportedEncoding(InputError):
    """A ``Content-Encoding`` that is not understood."""


def inflate(body: bytes, encoding: str, *, limit: int) -> bytes:
    """Give a request body as it was before ``Content-Encoding``.

    Raises:
        TooLarge: it inflates to more than ``limit`` bytes.
        UnsupportedEncoding: neither gzip, deflate nor nothing.
        InputError: it is corrupt or cut off.
    """
    match encoding.strip().lower():
        case "" | "identity":
            return body
        case "gzip" | "x-gzip":
            if not body.startswith(_GZIP_MAGIC):
                raise InputError("the body is not gzip, though its content encoding says so")
            return _inflate(body, _GZIP, "gzip", limit)
        case "deflate":
            # HTTP means the zlib format; some clients send the bare one. The former's first byte is never valid there.
            return _inflate(body, _ZLIB if is_zlib(body) else _RAW_DEFLATE, "deflate", limit)
        case other:
            raise UnsupportedEncoding(f"content encoding {quoted(other)} is not supported: send gzip, deflate or none")


def is_zlib(body: bytes) -> bool:
    """Tell whether a body begins as the zlib format does."""
    return len(body) > 1 and body[0] & 0x0F == 8 and (body[0] << 8 | body[1]) % 31 == 0


def _inflate(body: bytes, wbits: int, name: str, limit: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    rest = body
    while True:
        inflater = _decompressor(wbits)
        try:
            part: bytes = inflater.decompress(rest, limit - size + 1)
        except _errors as error:
            raise InputError(f"the body is corrupt {name}: {error}") from error
        size += len(part)
        if size > limit:
            raise TooLarge(f"the body inflates to more than {limit} bytes")
        parts.append(part)
        if not inflater.eof:
            raise InputError(f"the body is {name} that was cut off")
        rest = inflater.unused_data
        if wbits != _GZIP or not rest.startswith(_GZIP_MAGIC):
            return parts[0] if len(parts) == 1 else b"".join(parts)
