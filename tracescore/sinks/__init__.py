"""Where scores are written back."""

from tracescore.sinks.memory import MemorySink
from tracescore.sinks.otlp import OtlpSink
from tracescore.sinks.protocol import Delivery, Sink, SinkError

__all__ = ["Delivery", "MemorySink", "OtlpSink", "Sink", "SinkError"]
