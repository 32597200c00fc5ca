"""``tracescore serve``: the receiver and the query API alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tracescore.cli.notices import warn_of_unknown_variables
from tracescore.cli.opening import shown
from tracescore.cli.options import AsJson, Broker, Host, Insecure, Port, Store, log_to_stderr, settings

if TYPE_CHECKING:
    from tracescore.server import RunningServer


def serve(
    host: Host = None,
    port: Port = None,
    data: Store = None,
    broker: Broker = None,
    insecure: Insecure = False,
    as_json: AsJson = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing where all is well.")] = False,
) -> None:
    """Run the receiver and the query API alone."""
    from tracescore.cli.screen import note, print_json
    from tracescore.server import serve as run_server

    def on_start(server: RunningServer) -> None:
        if as_json:
            where = {"url": server.url, "grpc_port": server.grpc_port, "data": shown(chosen.store)}
            print_json({"event": "listening", **where})
        elif not quiet:
            grpc = f" and port {server.grpc_port} (gRPC)" if server.grpc_port else ""
            note(f"Listening on {server.url} (OTLP over HTTP){grpc}, data in {shown(chosen.store)}. Ctrl-C stops.")

    chosen = settings(host=host, port=port, store=data, broker=broker, insecure=insecure or None)
    if not quiet:
        warn_of_unknown_variables()
    log_to_stderr()
    run_server(chosen, on_start=on_start)
