"""Words that a pipeline put before the names of all attributes: ``attributes.gen_ai.…``, ``acme.llm.…``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tracescore.model import Span

_DEEPEST = 2
"""Words that may stand before a namespace."""
_LONGEST = 200


def layer_of(names: Iterable[str], namespaces: frozenset[str]) -> str | None:
    """Find what stands before a namespace, with its dot; ``None`` where nothing does."""
    for name in names:
        words = name[:_LONGEST].split(".", _DEEPEST + 1)
        if words[0] in namespaces:
            return None
        for place in range(1, len(words) - 1):
            if words[place] in namespaces:
                return ".".join(words[:place]) + "."
    return None


def without_layer(span: Span, namespaces: frozenset[str]) -> Span | None:
    """Give a span as it was before such words were added; ``None`` where there are none."""
    layer = layer_of(span.attributes, namespaces)
    if layer is None:
        return None
    return replace(span, attributes={key.removeprefix(layer): value for key, value in span.attributes.items()})
