"""Wait for the processes of the one-machine system, and say so meanwhile."""

from __future__ import annotations

import threading
from contextlib import nullcontext

from tracescore.cli.processes import ProcessesFailed, Supervisor


def wait_ready(supervisor: Supervisor, *, silent: bool, patience: float | None = None) -> None:
    """Wait until everything is ready; for ever where no patience is given, since what dies is started again.

    Raises:
        ProcessesFailed: something cannot work, or was not ready in time.
    """
    from tracescore.cli.screen import console

    late = threading.Event()

    def give_up() -> None:
        late.set()
        supervisor.ask_to_stop()

    timer = threading.Timer(patience or 0, give_up)
    timer.daemon = True

    out = console()
    said = "Starting broker, worker and receiver …"
    if not silent and not out.is_terminal:
        out.print(f"  {said}")
    with nullcontext() if silent else out.status(said, spinner="dots"):
        if patience is not None:
            timer.start()
        try:
            supervisor.wait_ready()
        finally:
            timer.cancel()
    if late.is_set():
        raise ProcessesFailed(f"its processes were not ready within {patience:g} s")
