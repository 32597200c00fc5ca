"""The stand-in model as a process: ``python -m tracescore.testing.model_server --port 8000 --faults 429,500``."""

from __future__ import annotations

import argparse
import signal
import sys
from threading import Event
from types import FrameType

from tracescore.testing.replies import ModelReply
from tracescore.testing.stand_in import ModelServer

_VALUE = {"score": 0.5}
FAULTS = {
    "429": ModelReply.rate_limited(retry_after=1),
    "500": ModelReply.server_error(),
    "hang": ModelReply.hang(),
    "reset": ModelReply.reset(),
    "truncated": ModelReply.truncated(_VALUE),
    "fenced": ModelReply.fenced(_VALUE),
    "prose": ModelReply.in_prose(_VALUE),
    "thinking": ModelReply.thinking(_VALUE),
    "wrong-schema": ModelReply.wrong_schema(),
    "refusal": ModelReply.refused(),
}
"""What ``--faults`` knows, by name."""


def main() -> None:
    """Serve until SIGINT or SIGTERM; the first line of output is the base URL, ``GET /calls`` gives the counters."""
    parser = argparse.ArgumentParser(description="An OpenAI-compatible stand-in that needs no model.")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before each answer")
    parser.add_argument("--faults", default="", help=f"the first answers, in order, of {', '.join(FAULTS)}")
    parser.add_argument("--refuse", default="", help="parameters that each request is refused for, such as temperature")
    options = parser.parse_args()
    if not 0 <= options.port <= 65535:
        parser.error(f"--port is {options.port}: expected 0 to 65535")
    faults, refuses = (_listed(text) for text in (options.faults, options.refuse))
    unknown = [name for name in faults if name not in FAULTS]
    if unknown:
        parser.error(f"--faults {unknown[0]!r} is unknown: known are {', '.join(FAULTS)}")
    ended = Event()

    def end(signal_number: int, frame: FrameType | None) -> None:
        ended.set()

    for signal_number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signal_number, end)
    try:
        with ModelServer(
            [FAULTS[name] for name in faults], latency=options.latency, port=options.port, refuses=refuses
        ) as server:
            sys.stdout.write(f"{server.base_url}\n")
            sys.stdout.flush()
            ended.wait()
    except OSError as error:
        parser.error(f"cannot listen on port {options.port}: {error.strerror}")


def _listed(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


if __name__ == "__main__":
    main()
