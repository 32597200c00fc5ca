"""Settings: read from the environment in one place, passed on as values."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from tracescore.arguments import check_project
from tracescore.errors import ConfigurationError

PREFIX = "TRACESCORE_"
OTLP_HTTP_PORT = 4318
OTLP_GRPC_PORT = 4317
"""Where exporters send to unless they are told otherwise."""
_OTHERS = {PREFIX + "DEMO_MODEL"}
"""Variables that are read elsewhere."""
STORE_SCHEMES = ("postgresql", "postgres", "postgresql+psycopg")
"""The schemes of a database's URL."""
_BROKERS = (
    "redis", "rediss", "redis+socket", "sentinel", "valkey", "valkeys", "valkey+unix", "amqp", "amqps", "pyamqp", "sqs",
    "azureservicebus", "azurestoragequeues", "confluentkafka", "consul", "etcd", "filesystem", "gcpubsub", "mongodb",
    "qpid", "zookeeper",
)  # fmt: skip
"""The schemes of a broker's URL that kombu and ``workers.config`` know."""
_BOOLEANS = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
_LIKE_A_URL = re.compile(r"(?i)(?!.*://)(?:(?:postgres(?:ql)?|mysql|sqlite)[+\w]*(?::/|//)|[^/]*//[^/]*@)")
"""A database's URL with a slip in it: as a folder's name it would show its password to everyone."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """All settings; times are in seconds, sizes in bytes. Each is read from ``TRACESCORE_`` and its upper-case name."""

    app: str | None = None
    """``module:attribute`` of a ``TraceScore``."""
    store: str = str(Path(".tracescore"))
    """A folder (SQLite) or a database URL."""
    broker: str = "embedded"
    """``embedded``, ``none`` (workers poll the store), or a broker URL."""
    project: str = "default"
    """Whose rows commands read, and whose requests without a token are: the first name in ``TRACESCORE_PROJECT``."""
    projects: tuple[str, ...] = ()
    """Whose runs workers score: all names in ``TRACESCORE_PROJECT``, or every project where it is not set."""
    host: str = "127.0.0.1"
    port: int = OTLP_HTTP_PORT
    grpc_port: int | None = None
    """Where OTLP over gRPC is taken: 4317 beside the usual ``port`` unless set, and then none; 0 or ``none`` is off."""
    allowed_hosts: str = ""
    """Names that requests may be addressed to, separated by commas; beyond loopback any, unless some are given."""
    insecure: bool = False
    """Listen beyond loopback where the store has no token: anybody may send and read."""
    worker_processes: int = 1
    slots: int = 64
    """Judge calls in flight per worker process."""
    lease: float = 60.0
    """How long a claimed job is held before another worker may take it."""
    drain: float = 25.0
    """How long a stopping worker waits for its work in flight."""
    settle_quiet: float = 10.0
    settle_orphan: float = 60.0
    settle_max: float = 600.0
    session_idle: float = 600.0
    """For how long nothing must come for a conversation until it is scored."""
    redaction: str = "default"
    """What may not pass to the store, judges and sinks: ``default``, ``off``, or a policy at ``module:attribute``."""
    compact_after: float = 3600.0
    """How long after it settled a trace's spans are compacted into one piece; 0 leaves them as they came."""
    offer_supersede: float = 600.0
    """For how long only another version of a scorer must be offered until it takes over the pending jobs of one."""
    max_request_bytes: int = 64 * 1024 * 1024
    max_inflated_bytes: int = 64 * 1024 * 1024
    """What a request may amount to once it is inflated; the server grows by four times that at most."""
    keep_media: bool = False
    """Keep base64 media in spans as they are; else each is replaced by its digest and size."""
    otlp_endpoint: str | None = None
    """Where scores are written back as OpenTelemetry events: an OTLP/HTTP base URL. None writes nothing back."""

    @property
    def otlp_grpc_port(self) -> int | None:
        """Give the port of OTLP over gRPC; None where it is off: a second server must not ask for the first one's."""
        if self.grpc_port is None:
            return OTLP_GRPC_PORT if self.port == OTLP_HTTP_PORT else None
        return self.grpc_port or None

    @classmethod
    def from_env(cls, environ: Mapping[str, str], **overrides: Any) -> Settings:
        """Read the settings of an environment; ``overrides`` that are not None win.

        Raises:
            ConfigurationError: a value that is not of its type, or out of bounds.
        """
        values: dict[str, Any] = {}
        for field in fields(cls):
            if field.name == "projects":
                continue
            name = PREFIX + field.name.upper()
            if (text := environ.get(name)) not in (None, ""):
                values[field.name] = _parse(name, str(text), str(field.type))
        values.update({name: value for name, value in overrides.items() if value is not None})
        if "project" in values:
            values["projects"] = names(values["project"])
            if not values["projects"]:
                raise ConfigurationError(f"{PREFIX}PROJECT is {values['project']!r}: expected a name")
            for project in values["projects"]:
                check_project(project)
            values["project"] = values["projects"][0]
        settings = cls(**values)
        for field in fields(cls):
            value = getattr(settings, field.name)
            if isinstance(value, float) and not math.isfinite(value):
                raise ConfigurationError(
                    f"{PREFIX}{field.name.upper()} is {value}: expected a finite number of seconds"
                )
        if _LIKE_A_URL.match(settings.store):
            # Not repeated: what was meant to be a URL may hold a password.
            raise ConfigurationError(
                f"{PREFIX}STORE is neither a folder nor a database's URL: expected a path, or postgresql://user@host/name"
            )
        scheme, url, _ = settings.store.partition("://")
        if url and scheme not in STORE_SCHEMES:
            raise ConfigurationError(
                f"{PREFIX}STORE is a URL of {scheme!r:.40}: give a folder or postgresql://user@host/database"
            )
        for name in ("worker_processes", "slots", "lease", "max_request_bytes", "max_inflated_bytes"):
            if getattr(settings, name) <= 0:
                raise ConfigurationError(f"{PREFIX}{name.upper()} must be greater than 0")
        if not 0 <= (settings.grpc_port or 0) <= 65535:
            raise ConfigurationError(f"{PREFIX}GRPC_PORT is {settings.grpc_port}: expected a port, 0 or none")
        for name in (
            "settle_quiet",
            "settle_orphan",
            "settle_max",
            "session_idle",
            "compact_after",
            "drain",
            "offer_supersede",
        ):
            if getattr(settings, name) < 0:
                raise ConfigurationError(f"{PREFIX}{name.upper()} must not be negative")
        _check_broker(settings.broker)
        if settings.otlp_endpoint and not settings.otlp_endpoint.startswith(("http://", "https://")):
            raise ConfigurationError(
                f"{PREFIX}OTLP_ENDPOINT is {settings.otlp_endpoint!r}: expected a URL such as http://localhost:4318"
            )
        return settings


def unknown_variables(environ: Mapping[str, str]) -> list[str]:
    """Say of each variable that looks like a setting and is none which one it may have been meant to be."""
    known = [PREFIX + field.name.upper() for field in fields(Settings) if field.name != "projects"]
    said: list[str] = []
    for name in sorted(environ):
        if name.startswith(PREFIX) and name not in known and name not in _OTHERS:
            nearest = get_close_matches(name, known, n=1)
            said.append(f"{name} is no setting and is ignored" + (f"; did you mean {nearest[0]}?" if nearest else ""))
    return said


def names(text: str) -> tuple[str, ...]:
    """Read names that are separated by commas."""
    return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def _check_broker(broker: str) -> None:
    scheme, url, _ = broker.partition("://")
    if scheme in (_BROKERS if url else ("", "embedded", "none")):
        return
    known = ("embedded", "none", *(f"{one}://" for one in _BROKERS))
    nearest = get_close_matches(f"{scheme}{url}".lower(), known, n=1)
    # Of a URL only the scheme is said: the rest may hold a password.
    given, hint = f"{scheme}://…" if url else broker, f"; did you mean {nearest[0]}?" if nearest else ""
    raise ConfigurationError(
        f"{PREFIX}BROKER is {given!r}: expected embedded, none, or a URL such as redis://host:6379/0, rediss://, "
        f"valkey://, amqp:// or amqps://{hint}"
    )


def _parse(name: str, text: str, type_name: str) -> Any:
    if type_name == "bool":
        if text.lower() not in _BOOLEANS:
            raise ConfigurationError(f"{name} is {text!r}: expected true or false")
        return _BOOLEANS[text.lower()]
    try:
        if type_name == "int | None":
            return 0 if text.lower() == "none" else int(text)
        if type_name == "int":
            return int(text)
        if type_name == "float":
            return float(text)
    except ValueError as error:
        raise ConfigurationError(f"{name} is {text!r}: expected a number") from error
    return text
