"""The door for an OpenTelemetry SDK in the same process: its spans go to a store or straight to scorers."""

from tracescore.exporter.span_exporter import TraceScoreSpanExporter

__all__ = ["TraceScoreSpanExporter"]
