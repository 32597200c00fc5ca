"""Names on the OpenTelemetry wire that more than one part of tracescore uses."""

from __future__ import annotations

# tracescore's own: what a sender may say about a run, and what marks spans and records that tracescore made itself.
OWN_NAME = "tracescore"
OWN_PREFIX = "tracescore."
RUN_COMPLETE = "tracescore.run.complete"

SERVICE_NAME = "service.name"
ENVIRONMENT_NAMES = ("deployment.environment.name", "deployment.environment", "langfuse.environment")
EVENT_NAME = "event.name"
"""Where SDKs without ``LogRecord.event_name`` put the name of an event."""
ERROR_TYPE = "error.type"

GEN_AI_PREFIX = "gen_ai."
GEN_AI_RESPONSE_ID = "gen_ai.response.id"

EVALUATION_RESULT = "gen_ai.evaluation.result"
EVALUATION_NAME = "gen_ai.evaluation.name"
EVALUATION_SCORE_VALUE = "gen_ai.evaluation.score.value"
EVALUATION_SCORE_LABEL = "gen_ai.evaluation.score.label"
EVALUATION_EXPLANATION = "gen_ai.evaluation.explanation"

SCORE_KEY = "tracescore.score.key"
SCORE_SOURCE = "tracescore.score.source"
SCORE_PROBABILITY = "tracescore.score.probability"
SCORE_COUNTED = "tracescore.score.counted"
SCORER_ID = "tracescore.scorer.id"
SCORER_VERSION = "tracescore.scorer.version"
RUN_ID = "tracescore.run.id"
OUTCOME = "tracescore.outcome"
