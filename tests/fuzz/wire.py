"""The two doors of the receiver, as bytes on a socket: what no client library would send."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import grpc

_PATIENCE_S = 20
Door: TypeAlias = Literal["http", "part", "grpc", "frames"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Sent:
    """What is sent: by ``http`` a whole request, which must be answered; by ``part`` bytes that may be no request.

    By ``grpc`` the path of a method in a line, then the message; by ``frames`` what comes on gRPC's port.
    """

    door: Door
    data: bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class HttpAnswer:
    """What came back."""

    status: int
    content_type: str
    body: bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class GrpcAnswer:
    """What came back: the code's name and its reason, or the message where it is ``OK``."""

    code: str
    details: str = ""
    message: bytes = b""


def exchange(host: str, port: int, data: bytes, *, whole: bool) -> HttpAnswer | None:
    """Send bytes and read one answer; None where the connection ended without one.

    Raises:
        TimeoutError: neither came in time.
    """
    with socket.create_connection((host, port), timeout=_PATIENCE_S) as connection:
        try:
            connection.sendall(data)
            if not whole:
                connection.shutdown(socket.SHUT_WR)
            with connection.makefile("rb") as stream:
                return _answer(stream, has_body=not data.startswith(b"HEAD"))
        except TimeoutError:
            raise
        except OSError:  # reset, or closed before all of it was sent
            return None


def _answer(stream: Any, *, has_body: bool) -> HttpAnswer | None:
    while True:
        line: bytes = stream.readline()
        if not line:
            return None
        status = int(line.split()[1])
        headers: dict[str, str] = {}
        while (line := stream.readline()).strip():
            name, _, value = line.decode("latin-1").partition(":")
            headers[name.lower()] = value.strip()
        if status >= 200:  # what comes before is 100 Continue
            break
    if not has_body:
        body = b""
    elif headers.get("transfer-encoding") == "chunked":
        body = b"".join(_pieces(stream))
    else:
        length = headers.get("content-length")
        body = stream.read(int(length)) if length is not None else stream.read()
    return HttpAnswer(status=status, content_type=headers.get("content-type", ""), body=body)


def _pieces(stream: Any) -> Iterator[bytes]:
    while size := int(stream.readline(), 16):
        yield stream.read(size)
        stream.readline()


def throw(host: str, port: int, data: bytes) -> None:
    """Send bytes and let the connection go, whatever comes back."""
    with socket.create_connection((host, port), timeout=_PATIENCE_S) as connection:
        try:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(65536):
                pass
        except TimeoutError:
            raise
        except OSError:
            return


def ask(channel: Any, path: str, message: bytes, *, compression: Any = None) -> GrpcAnswer:
    """Call a method over gRPC with the message as it is."""
    try:
        answer: bytes = channel.unary_unary(path)(message, timeout=_PATIENCE_S, compression=compression)
    except grpc.RpcError as error:
        raised: Any = error
        return GrpcAnswer(code=raised.code().name, details=raised.details() or "")
    return GrpcAnswer(code="OK", message=answer)
