"""HTTP/1.1 where a request breaks off while it is answered: uvicorn would answer it again, and log a stack trace."""

from __future__ import annotations

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol


class PatientProtocol(H11Protocol):
    """The protocol of uvicorn, which refuses what is no HTTP: once, and not behind an answer that has begun."""

    def send_400_response(self, msg: str) -> None:
        """Refuse where that can still be said; either way the connection ends, and the app has nobody to answer."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.transport.close()
        if self.cycle:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
