"""One judge call: a prompt in, a validated value out."""

from tracescore.judge.options import UNSET, ApiKey, Given, Judge
from tracescore.judge.protocol import JudgeModel, JudgeReply, JudgeRequest
from tracescore.judge.providers import Endpoint, endpoint_of
from tracescore.judge.reading import read_text, read_value
from tracescore.judge.replies import MemoryReplies, ReplyStore, dump_reply, load_reply, prompt_hash
from tracescore.judge.resolving import check_model, resolve_model
from tracescore.judge.schema import OutputSchema, output_schema

__all__ = [
    "UNSET",
    "ApiKey",
    "Endpoint",
    "Given",
    "Judge",
    "JudgeModel",
    "JudgeReply",
    "JudgeRequest",
    "MemoryReplies",
    "OutputSchema",
    "ReplyStore",
    "check_model",
    "dump_reply",
    "endpoint_of",
    "load_reply",
    "output_schema",
    "prompt_hash",
    "read_text",
    "read_value",
    "resolve_model",
]
