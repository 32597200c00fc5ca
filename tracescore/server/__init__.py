"""The receiver and the query API over HTTP."""

from tracescore.server.app import create_server
from tracescore.server.running import RunningServer, serve, serving

__all__ = ["RunningServer", "create_server", "serve", "serving"]
