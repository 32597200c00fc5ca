"""One judge call: a prompt in, a validated value out."""

from tracescore.judge.calling import CallPlace, CallRecord, call_judge, redacted
from tracescore.judge.causes import is_bad_request_error, is_retryable, is_stream_error
from tracescore.judge.injection import JsonPromptInjection, schema_in
from tracescore.judge.options import UNSET, ApiKey, Given, Judge
from tracescore.judge.parsing import parse_json
from tracescore.judge.pricing import cost_of
from tracescore.judge.processors import (
    DEFAULT_PROCESSOR_RETRIES,
    ChatMessages,
    ErrorProcessor,
    InputProcessor,
    MaybeAwaitable,
    OutputProcessor,
)
from tracescore.judge.protocol import JudgeModel, JudgeReply, JudgeRequest, TextRedactor
from tracescore.judge.providers import Endpoint, endpoint_of
from tracescore.judge.reading import read_text, read_value
from tracescore.judge.replies import MemoryReplies, ReplyStore, dump_reply, load_reply, prompt_hash, raw_reply, reply_of
from tracescore.judge.resolving import check_model, resolve_model
from tracescore.judge.retrying import RetryAttempt, RetryPolicy, StreamErrorRetryProcessor
from tracescore.judge.schema import OutputSchema, output_schema
from tracescore.judge.worker_default import WORKER_RETRIES, with_worker_retries

__all__ = [
    "DEFAULT_PROCESSOR_RETRIES",
    "UNSET",
    "WORKER_RETRIES",
    "ApiKey",
    "CallPlace",
    "CallRecord",
    "ChatMessages",
    "Endpoint",
    "ErrorProcessor",
    "Given",
    "InputProcessor",
    "JsonPromptInjection",
    "Judge",
    "JudgeModel",
    "JudgeReply",
    "JudgeRequest",
    "MaybeAwaitable",
    "MemoryReplies",
    "OutputProcessor",
    "OutputSchema",
    "ReplyStore",
    "RetryAttempt",
    "RetryPolicy",
    "StreamErrorRetryProcessor",
    "TextRedactor",
    "call_judge",
    "check_model",
    "cost_of",
    "dump_reply",
    "endpoint_of",
    "is_bad_request_error",
    "is_retryable",
    "is_stream_error",
    "load_reply",
    "output_schema",
    "parse_json",
    "prompt_hash",
    "raw_reply",
    "read_text",
    "read_value",
    "redacted",
    "reply_of",
    "resolve_model",
    "schema_in",
    "with_worker_retries",
]
