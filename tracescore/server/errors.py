"""Errors as one clear line, in the form that the request's sender reads."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from traceback import clear_frames
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from google.rpc.status_pb2 import Status
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from tracescore.errors import InputError, StoreError, StoreUnavailable
from tracescore.otel import PROTOBUF, TooLarge, encoding_of
from tracescore.pipeline.targets import UnknownScorer
from tracescore.redaction import RedactionError
from tracescore.server.inflate import UnsupportedEncoding
from tracescore.server.refused_fields import validation_message

logger = logging.getLogger(__name__)

_GRPC_CODES = {400: 3, 401: 16, 403: 7, 404: 5, 413: 8, 415: 3, 429: 8, 500: 13, 503: 14}
"""OTLP answers refusals with a ``google.rpc.Status``; its codes are gRPC's."""
_UNKNOWN = 2


def error_response(status: int, message: str, *, otlp: bool, headers: Mapping[str, str]) -> Response:
    """Say what was wrong; an OTLP sender is answered in the encoding of its request."""
    code = _GRPC_CODES.get(status, _UNKNOWN)
    if otlp and encoding_of(headers.get("content-type", "")) == PROTOBUF:
        encoded = Status(code=code, message=message).SerializeToString()
        return Response(encoded, status_code=status, media_type=PROTOBUF)
    content: dict[str, Any] = {"error": message}
    if otlp:
        content |= {"code": code, "message": message}
    return JSONResponse(content, status_code=status)


def add_error_handlers(app: FastAPI) -> None:
    """Answer every exception with one line and a status, never with a stack trace."""

    async def refused(request: Request, error: Exception) -> Response:
        return _respond(request, error)

    kinds = (
        HTTPException,
        RequestValidationError,
        InputError,
        StoreError,
        UnknownScorer,
        RedactionError,
        ClientDisconnect,
    )
    for kind in (*kinds, Exception):
        app.add_exception_handler(kind, refused)


def let_go(error: BaseException) -> None:
    """Drop what an error that was dealt with holds: the body in its frames would stay until cycles are collected."""
    seen: BaseException | None = error
    while seen is not None:
        clear_frames(seen.__traceback__)
        following = seen.__cause__ or seen.__context__
        seen.__traceback__ = seen.__cause__ = seen.__context__ = None
        seen = following


def _respond(request: Request, error: Exception) -> Response:
    extra: Mapping[str, str] = {}
    match error:
        case HTTPException():
            status, message, extra = error.status_code, str(error.detail), error.headers or {}
        case RequestValidationError():
            status, message = 422, validation_message(request, error)
        case TooLarge():
            status, message = 413, str(error)
        case UnsupportedEncoding():
            status, message = 415, str(error)
        case UnknownScorer():
            status, message = 404, str(error)
        case InputError():
            status, message = 400, str(error)
        case StoreUnavailable():
            status, message, extra = store_refusal(error)
        case StoreError():
            logger.error("%s %s: %s", request.method, request.url.path, error)
            status, message, extra = store_refusal(error)
        case RedactionError():
            # Not what was sent is at fault: once the rule is put right, the sender may come again.
            status, message, extra = 503, f"nothing was stored: {error}", {"retry-after": "60"}
        case ClientDisconnect():
            status, message = 400, "the sender hung up"
        case _:
            logger.exception("%s %s failed", request.method, request.url.path, exc_info=error)
            status, message = 500, "internal error; the server's log has the details"
    response = error_response(status, message, otlp=request.url.path.startswith("/v1/"), headers=request.headers)
    response.headers.update(extra)
    if status != 500:
        let_go(error)
    return response


def store_refusal(error: StoreError) -> tuple[int, str, Mapping[str, str]]:
    """Give the status, the words and the headers for a store that does not do what was asked."""
    if isinstance(error, StoreUnavailable):
        wait = {"retry-after": str(max(1, math.ceil(error.retry_after)))}
        return 503, f"the store is not available: {error}", wait
    return 500, f"the store cannot be used: {error}", {}
