"""``filter_run``: a prepare_run said in options."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, TypeVar

from tracescore.errors import ConfigurationError
from tracescore.model import PART_TYPES, AgentInput, Message, Messages, ScorerRun

FilteredT = TypeVar("FilteredT", bound=ScorerRun[Any, Any])


@dataclass(frozen=True, kw_only=True, slots=True)
class RunFilter:
    """A ``prepare_run`` that keeps or drops whole messages and fields; build it with ``filter_run``."""

    part_types: tuple[str, ...] | None = None
    tool_names: tuple[str, ...] | None = None
    max_remembered_messages: int | None = None
    max_output_messages: int | None = None
    drop_request_context: bool = False
    drop_expected_trajectory: bool = False
    drop_ground_truth: bool = False

    def __call__(self, run: FilteredT, /) -> FilteredT:
        """Give the run with what the options leave of it."""
        changes: dict[str, Any] = {}
        if self.drop_request_context:
            changes["request_context"] = {}
        if self.drop_expected_trajectory:
            changes["expected_trajectory"] = None
        if self.drop_ground_truth:
            changes["ground_truth"] = None
        if isinstance(run.input, AgentInput):
            remembered = self._filtered(run.input.remembered_messages, self.max_remembered_messages)
            changes["input"] = replace(run.input, remembered_messages=remembered)
        if isinstance(run.output, (Messages, list, tuple)):
            changes["output"] = self._filtered(run.output, self.max_output_messages)
        return replace(run, **changes)

    def keeps(self, message: Message) -> bool:
        """Tell whether a message stays."""
        calls = message.tool_calls
        if calls and self.tool_names is not None and not _any_prefix((call.name for call in calls), self.tool_names):
            return False
        if self.part_types is None:
            return True
        return _any_prefix((part.type for part in message.parts), self.part_types)

    def _filtered(self, messages: Any, limit: int | None) -> Any:
        kept: Sequence[Any] = messages
        if self.part_types is not None or self.tool_names is not None:
            kept = [item for item in messages if not isinstance(item, Message) or self.keeps(item)]
        if limit is not None and len(kept) > limit:
            kept = kept[len(kept) - limit :]
        return messages if len(kept) == len(messages) else type(messages)(kept)


def filter_run(
    *,
    part_types: Iterable[str] | None = None,
    tool_names: Iterable[str] | None = None,
    max_remembered_messages: int | None = None,
    max_output_messages: int | None = None,
    drop_request_context: bool = False,
    drop_expected_trajectory: bool = False,
    drop_ground_truth: bool = False,
) -> RunFilter:
    """Give a ``prepare_run`` that leaves of a run what a scorer needs.

    Messages are kept or dropped whole, among the remembered messages and the output; input and system messages are
    never touched. The limits hold after that and keep the last messages.

    Args:
        part_types: keep messages with a part whose type starts with one of these. A message of text alone is dropped
            where ``"text"`` is not among them. An empty list keeps no message.
        tool_names: of messages with tool calls, keep those with a tool whose name starts with one of these; messages
            without tool calls stay. Given with ``part_types``, both must hold.
        max_remembered_messages: keep that many remembered messages; 0 keeps none, None sets no limit.
        max_output_messages: keep that many messages of the output; 0 keeps none, None sets no limit.
        drop_request_context: drop the request context.
        drop_expected_trajectory: drop the expected trajectory.
        drop_ground_truth: drop the ground truth.

    Raises:
        ConfigurationError: a negative limit, or a part type that no part has.

    Example:
        >>> focused = filter_run(part_types=["text", "tool-invocation"], max_remembered_messages=10)
    """
    limits = {"max_remembered_messages": max_remembered_messages, "max_output_messages": max_output_messages}
    for name, limit in limits.items():
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 0):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigurationError(f"filter_run({name}={limit!r}): give a whole number from 0, or None for no limit")
    kinds = _names("part_types", part_types)
    for kind in kinds or ():
        if not any(known.startswith(kind) for known in PART_TYPES):
            nearest = get_close_matches(kind, PART_TYPES, n=1, cutoff=0.4)
            hint = f"; did you mean {nearest[0]!r}?" if nearest else "."
            raise ConfigurationError(
                f"filter_run(part_types=...): no part type starts with {kind!r}{hint} Known are {', '.join(PART_TYPES)}"
            )
    return RunFilter(
        part_types=kinds,
        tool_names=_names("tool_names", tool_names),
        drop_request_context=drop_request_context,
        drop_expected_trajectory=drop_expected_trajectory,
        drop_ground_truth=drop_ground_truth,
        **limits,
    )


def _names(option: str, given: Iterable[str] | None) -> tuple[str, ...] | None:
    if given is None:
        return None
    if isinstance(given, str):  # a text is an iterable of its letters, each a prefix of something
        raise ConfigurationError(f"filter_run({option}={given!r}): give a list of names, not one text")
    return tuple(given)


def _any_prefix(values: Iterable[str], prefixes: tuple[str, ...]) -> bool:
    return any(value.startswith(prefixes) for value in values)
