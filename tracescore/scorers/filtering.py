"""``filter_run``: a prepare_run said in options."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, TypeAlias, TypeVar

from tracescore.model import Cut, Message, Role, ScorerRun
from tracescore.scorers.filter_checks import (
    ROLES,
    checked_choice,
    checked_flag,
    checked_limit,
    checked_names,
    checked_part_types,
)
from tracescore.scorers.filter_content import (
    GROUPS,
    OUTPUT,
    REMEMBERED,
    Content,
    FilterRule,
    Items,
    changed_fields,
    content_of,
    cuts_between,
    each_group,
    each_message,
)
from tracescore.scorers.token_budget import within_budget
from tracescore.scorers.token_counts import ENCODINGS, TokenCounter, token_counter
from tracescore.scorers.trimming import kept_part, shorter_result, shorter_text, with_parts, without_result

FilteredT = TypeVar("FilteredT", bound=ScorerRun[Any, Any])
MessageGroup: TypeAlias = Literal["input", "remembered", "system", "tagged"]

_DROPPED: dict[str, tuple[str, Any]] = {
    "drop_request_context": ("request_context", {}),
    "drop_expected_trajectory": ("expected_trajectory", None),
    "drop_ground_truth": ("ground_truth", None),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class RunFilter:
    """A ``prepare_run`` that cuts a run by rules; build it with ``filter_run``, join two with ``|``.

    It is a value: its options are what it does, and they are part of the version of the scorer that it prepares for.
    """

    part_types: tuple[str, ...] | None = None
    tool_names: tuple[str, ...] | None = None
    max_remembered_messages: int | None = None
    max_output_messages: int | None = None
    drop_request_context: bool = False
    drop_expected_trajectory: bool = False
    drop_ground_truth: bool = False
    keep_groups: tuple[str, ...] | None = None
    drop_groups: tuple[str, ...] | None = None
    keep_roles: tuple[str, ...] | None = None
    drop_roles: tuple[str, ...] | None = None
    keep_parts: tuple[str, ...] | None = None
    drop_parts: tuple[str, ...] | None = None
    drop_tool_results: bool = False
    max_result_chars: int | None = None
    max_text_chars: int | None = None
    max_remembered_turns: int | None = None
    max_tokens: int | None = None
    encoding: str | None = "o200k_base"

    def __call__(self, run: FilteredT, /) -> FilteredT:
        """Give the run with what the rules leave of it; what each took is added to its ``cuts``."""
        counter = token_counter(None if self.max_tokens is None else self.encoding)
        changes: dict[str, Any] = {}
        cuts: list[Cut] = []
        for option, (field, empty) in _DROPPED.items():
            if getattr(self, option) and getattr(run, field) not in (None, {}):
                changes[field] = empty
                cuts.append(Cut(rule=option, what=field))
        before = content = content_of(run)
        for rule in self.rules(counter):
            after = rule.stage(content)
            cuts += cuts_between(content, after, rule=rule.name, counter=counter)
            content = after
        if content is not before:
            changes |= changed_fields(run, content)
        if cuts:
            changes["cuts"] = (*run.cuts, *cuts)
        return replace(run, **changes) if changes else run

    def __or__(self, other: RunFilter | FilterChain) -> FilterChain:
        """Give the filter that applies this one, then the other."""
        return FilterChain(filters=(self,)) | other

    def rules(self, counter: TokenCounter) -> Iterator[FilterRule]:
        """Give the rules in the order in which they apply: inside messages, whole messages, limits, the budget.

        What looks inside comes first, and limits behind what they count, so that filtering again changes nothing.
        """
        if self.keep_groups is not None or self.drop_groups is not None:
            yield FilterRule(name=self._named("keep_groups", "drop_groups"), stage=self._groups)
        if self.keep_roles is not None or self.drop_roles is not None:
            yield FilterRule(name=self._named("keep_roles", "drop_roles"), stage=each_message(self._of_role))
        for option, edit in (
            ("keep_parts", partial(kept_part, keep=self.keep_parts, drop=None)),
            ("drop_parts", partial(kept_part, keep=None, drop=self.drop_parts)),
            ("drop_tool_results", without_result),
            ("max_result_chars", partial(shorter_result, limit=self.max_result_chars or 0)),
            ("max_text_chars", partial(shorter_text, limit=self.max_text_chars or 0)),
        ):
            given = getattr(self, option)
            if given is not None and given is not False:
                yield FilterRule(name=self._named(option), stage=each_message(partial(with_parts, edit=edit)))
        if (turns := self.max_remembered_turns) is not None:
            yield FilterRule(
                name=self._named("max_remembered_turns"),
                stage=each_group(partial(_last_turns, limit=turns), REMEMBERED),
            )
        if self.part_types is not None or self.tool_names is not None:
            whole = each_message(lambda message: message if self.keeps(message) else None, REMEMBERED, OUTPUT)
            yield FilterRule(name=self._named("part_types", "tool_names"), stage=whole)
        for option, group in (("max_remembered_messages", REMEMBERED), ("max_output_messages", OUTPUT)):
            if (limit := getattr(self, option)) is not None:
                yield FilterRule(name=self._named(option), stage=each_group(partial(_last, limit=limit), group))
        if self.max_tokens is not None:
            yield FilterRule(
                name=self._named("max_tokens"), stage=partial(within_budget, limit=self.max_tokens, counter=counter)
            )

    def keeps(self, message: Message) -> bool:
        """Tell whether ``part_types`` and ``tool_names`` let a message stay."""
        calls = message.tool_calls
        if calls and self.tool_names is not None and not _any_prefix((call.name for call in calls), self.tool_names):
            return False
        if self.part_types is None:
            return True
        return _any_prefix((part.type for part in message.parts), self.part_types)

    def _groups(self, content: Content) -> Content:
        def kept(group: str) -> bool:
            if group not in GROUPS:
                return True
            return (self.keep_groups is None or group in self.keep_groups) and group not in (self.drop_groups or ())

        return {key: items if kept(key[0]) or not items else () for key, items in content.items()}

    def _of_role(self, message: Message) -> Message | None:
        kept = (self.keep_roles is None or message.role in self.keep_roles) and message.role not in (
            self.drop_roles or ()
        )
        return message if kept else None

    def _named(self, *options: str) -> str:
        given = [(option, getattr(self, option)) for option in options]
        said = [(option, list(value) if isinstance(value, tuple) else value) for option, value in given]
        return ", ".join(
            option if value is True else f"{option}={value}" for option, value in said if value is not None
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class FilterChain:
    """Filters that apply one after the other: what ``a | b`` gives."""

    filters: tuple[RunFilter, ...]

    def __call__(self, run: FilteredT, /) -> FilteredT:
        """Give the run with what all filters leave of it."""
        for one in self.filters:
            run = one(run)
        return run

    def __or__(self, other: RunFilter | FilterChain) -> FilterChain:
        """Give the chain with another filter behind it."""
        if isinstance(other, RunFilter):
            return FilterChain(filters=(*self.filters, other))
        if isinstance(other, FilterChain):  # pyright: ignore[reportUnnecessaryIsInstance]  # untyped callers
            return FilterChain(filters=self.filters + other.filters)
        return NotImplemented


def filter_run(
    *,
    part_types: Iterable[str] | None = None,
    tool_names: Iterable[str] | None = None,
    max_remembered_messages: int | None = None,
    max_output_messages: int | None = None,
    drop_request_context: bool = False,
    drop_expected_trajectory: bool = False,
    drop_ground_truth: bool = False,
    keep_groups: Iterable[MessageGroup] | None = None,
    drop_groups: Iterable[MessageGroup] | None = None,
    keep_roles: Iterable[Role] | None = None,
    drop_roles: Iterable[Role] | None = None,
    keep_parts: Iterable[str] | None = None,
    drop_parts: Iterable[str] | None = None,
    drop_tool_results: bool = False,
    max_result_chars: int | None = None,
    max_text_chars: int | None = None,
    max_remembered_turns: int | None = None,
    max_tokens: int | None = None,
    encoding: str | None = "o200k_base",
) -> RunFilter:
    """Give a ``prepare_run`` that leaves of a run what a scorer needs, and records what it cut.

    The first seven options keep or drop whole messages among the remembered ones and the output, and fields; the others
    look at every message of the run, input and system messages too. 0 means none, and None sets no limit.

    Args:
        part_types: keep messages with a part whose type starts with one of these. A message of text alone is dropped
            where ``"text"`` is not among them. An empty list keeps no message.
        tool_names: of messages with tool calls, keep those with a tool whose name starts with one of these; messages
            without tool calls stay. Given with ``part_types``, both must hold.
        max_remembered_messages: keep the last so many remembered messages that are left.
        max_output_messages: keep the last so many messages of the output that are left.
        drop_request_context: drop the request context.
        drop_expected_trajectory: drop the expected trajectory.
        drop_ground_truth: drop the ground truth.
        keep_groups: keep only these of ``"input"``, ``"remembered"``, ``"system"`` and ``"tagged"``; the output stays.
        drop_groups: drop these groups.
        keep_roles: keep only messages of these roles, in every group and in the output.
        drop_roles: drop messages of these roles.
        keep_parts: keep only parts whose type starts with one of these; a message without any part left goes.
        drop_parts: drop parts whose type starts with one of these.
        drop_tool_results: keep tool calls with their arguments and errors, with ``"[result left out]"`` for their
            results.
        max_result_chars: cut a tool's result behind so many characters of its text or JSON.
        max_text_chars: cut a text or reasoning part behind so many characters.
        max_remembered_turns: keep the last so many turns before the input; a turn begins with what a user said.
        max_tokens: cut until all messages together have at most so many tokens: results of tools first, the oldest
            first, then remembered messages, the oldest first, then what the agent did on its way to the final answer,
            then tagged and at last other system messages. The input and the final answer are never cut.
        encoding: how tokens are counted: ``"o200k_base"`` or ``"cl100k_base"`` where tiktoken is installed and has its
            vocabulary in its cache, else, and where None, four bytes of UTF-8 as one token.

    Raises:
        ConfigurationError: a negative limit, or a group, role, encoding or part type that there is not.

    Example:
        >>> focused = filter_run(part_types=["text", "tool-invocation"], max_remembered_messages=10)
        >>> cheap = focused | filter_run(drop_parts=["reasoning"], max_tokens=4000)
    """
    if encoding is not None:
        checked_choice("encoding", [encoding], tuple(ENCODINGS))
    return RunFilter(
        part_types=checked_part_types("part_types", part_types),
        tool_names=checked_names("tool_names", tool_names),
        max_remembered_messages=checked_limit("max_remembered_messages", max_remembered_messages),
        max_output_messages=checked_limit("max_output_messages", max_output_messages),
        drop_request_context=checked_flag("drop_request_context", drop_request_context),
        drop_expected_trajectory=checked_flag("drop_expected_trajectory", drop_expected_trajectory),
        drop_ground_truth=checked_flag("drop_ground_truth", drop_ground_truth),
        keep_groups=checked_choice("keep_groups", keep_groups, GROUPS),
        drop_groups=checked_choice("drop_groups", drop_groups, GROUPS),
        keep_roles=checked_choice("keep_roles", keep_roles, ROLES),
        drop_roles=checked_choice("drop_roles", drop_roles, ROLES),
        keep_parts=checked_part_types("keep_parts", keep_parts),
        drop_parts=checked_part_types("drop_parts", drop_parts),
        drop_tool_results=checked_flag("drop_tool_results", drop_tool_results),
        max_result_chars=checked_limit("max_result_chars", max_result_chars),
        max_text_chars=checked_limit("max_text_chars", max_text_chars),
        max_remembered_turns=checked_limit("max_remembered_turns", max_remembered_turns),
        max_tokens=checked_limit("max_tokens", max_tokens),
        encoding=encoding,
    )


def _last(items: Items, *, limit: int) -> Items:
    return items if len(items) <= limit else items[len(items) - limit :]


def _last_turns(items: Sequence[Any], *, limit: int) -> Items:
    if not limit:
        return items[len(items) :] if items else items
    starts = [
        place
        for place, item in enumerate(items)
        if item.role == "user" and (place == 0 or items[place - 1].role != "user")
    ]
    return items if len(starts) < limit else items[starts[-limit] :]


def _any_prefix(values: Iterable[str], prefixes: tuple[str, ...]) -> bool:
    return any(value.startswith(prefixes) for value in values)
