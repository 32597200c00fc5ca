"""OTLP's messages with some of their fields read as bytes, so that what lies in those is parsed by itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
from opentelemetry.proto.common.v1 import common_pb2
from opentelemetry.proto.logs.v1 import logs_pb2
from opentelemetry.proto.resource.v1 import resource_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

PACKAGE = "opentelemetry.proto"

AsBytes = Callable[[str, FieldDescriptorProto], bool]
"""Tells by the package of a field's message and the field whether it is read as bytes."""


def all_as_bytes(_: str, field: FieldDescriptorProto) -> bool:
    """Read every text and every message as bytes."""
    return field.type in (FieldDescriptorProto.TYPE_STRING, FieldDescriptorProto.TYPE_MESSAGE)


def span_attributes_as_bytes(package: str, field: FieldDescriptorProto) -> bool:
    """Read the attributes of spans, their events and links as bytes."""
    return package == f"{PACKAGE}.trace.v1" and field.name == "attributes"


@cache
def message_type(name: str, as_bytes: AsBytes) -> Any:
    """Give the class of a message of OTLP, named within its package."""
    return GetMessageClass(_pool(as_bytes).FindMessageTypeByName(f"{PACKAGE}.{name}"))


@cache
def _pool(as_bytes: AsBytes) -> DescriptorPool:
    pool = DescriptorPool()
    for module in (common_pb2, resource_pb2, trace_pb2, logs_pb2, trace_service_pb2, logs_service_pb2):
        file = FileDescriptorProto()
        module.DESCRIPTOR.CopyToProto(file)  # pyright: ignore[reportUnknownMemberType]  # the stubs need protobuf's
        pending: list[Any] = list(file.message_type)
        while pending:
            message = pending.pop()
            pending.extend(message.nested_type)
            for field in message.field:
                if as_bytes(file.package, field):
                    field.type = FieldDescriptorProto.TYPE_BYTES
                    field.ClearField("type_name")
        pool.Add(file)
    return pool
