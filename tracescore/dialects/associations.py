"""Session and user, under whichever name a library keeps them, in one order of trust for all dialects."""

from __future__ import annotations

from collections.abc import Sequence

from tracescore.dialects.fields import Fields
from tracescore.dialects.form import Reading
from tracescore.model import LogRecord, Span

_SESSION = (
    "session.id",
    "gen_ai.conversation.id",
    "langfuse.session.id",
    "langfuse.trace.metadata.langfuse_session_id",
    "langsmith.metadata.thread_id",
    "langsmith.metadata.session_id",
    "traceloop.association.properties.thread_id",
    "traceloop.association.properties.session_id",
    "lmnr.association.properties.session_id",
    "ai.telemetry.metadata.sessionId",
    "ai.telemetry.metadata.session_id",
    "mastra.metadata.sessionId",
    "mastra.metadata.threadId",
    "gcp.vertex.agent.session_id",
    "spring.ai.chat.client.conversation.id",
    "wandb.thread_id",
    "conversation.id",
    *(
        f"{bag}.{name}"
        for bag in ("ai.settings.context", "langsmith.metadata")
        for name in ("sessionId", "session_id", "threadId", "thread_id", "conversationId", "conversation_id")
    ),
)
_USER = (
    "user.id",
    "enduser.id",
    "langfuse.user.id",
    "langfuse.trace.metadata.langfuse_user_id",
    "langsmith.metadata.user_id",
    "traceloop.association.properties.user_id",
    "lmnr.association.properties.user_id",
    "ai.telemetry.metadata.userId",
    "ai.telemetry.metadata.user_id",
    "mastra.metadata.userId",
    "gen_ai.request.user",
    "langsmith.metadata.userId",
    "ai.settings.context.userId",
    "ai.settings.context.user_id",
)
_FIELDS = Fields(texts={"session_id": _SESSION, "user_id": _USER})


class Associations:
    """What ties a span to a conversation and to a person; it says nothing of what the span is."""

    marks = frozenset((*_SESSION, *_USER))
    names = ()
    content_prefixes = ()

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Reading | None:
        """Read session and user."""
        fields = _FIELDS.read(span.attributes)
        return Reading(**fields) if fields else None
