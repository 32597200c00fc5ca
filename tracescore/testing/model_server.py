"""The stand-in model as a process: ``python -m tracescore.testing.model_server --port 8000 --latency 0.2``."""

from __future__ import annotations

import argparse
import signal
import sys
from threading import Event
from types import FrameType

from tracescore.testing.stand_in import ModelServer


def main() -> None:
    """Serve until SIGINT or SIGTERM; the first line of output is the base URL, ``GET /calls`` gives the counters."""
    parser = argparse.ArgumentParser(description="An OpenAI-compatible stand-in that needs no model.")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before each answer")
    options = parser.parse_args()
    if not 0 <= options.port <= 65535:
        parser.error(f"--port is {options.port}: expected 0 to 65535")
    ended = Event()

    def end(signal_number: int, frame: FrameType | None) -> None:
        ended.set()

    for signal_number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signal_number, end)
    try:
        with ModelServer(latency=options.latency, port=options.port) as server:
            sys.stdout.write(f"{server.base_url}\n")
            sys.stdout.flush()
            ended.wait()
    except OSError as error:
        parser.error(f"cannot listen on port {options.port}: {error.strerror}")


if __name__ == "__main__":
    main()
