"""A run's messages by group while they are being cut, and the record of what each rule takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from tracescore.model import AgentInput, Cut, Message, Messages, ScorerRun
from tracescore.scorers.token_counts import TokenCounter

INPUT, REMEMBERED, SYSTEM, TAGGED, OUTPUT = "input", "remembered", "system", "tagged", "output"
GROUPS = (INPUT, REMEMBERED, SYSTEM, TAGGED)
_FIELDS = {
    INPUT: "input_messages",
    REMEMBERED: "remembered_messages",
    SYSTEM: "system_messages",
    TAGGED: "tagged_system_messages",
    OUTPUT: "output",
}

Items: TypeAlias = Sequence[Any]
"""Messages, or what else a custom run's output holds."""
Content: TypeAlias = Mapping[tuple[str, str], Items]
"""By group and tag; only tagged system messages have a tag that is not empty."""
Stage: TypeAlias = Callable[[Content], Content]


@dataclass(frozen=True, kw_only=True, slots=True)
class FilterRule:
    """One rule of a filter: how the record names it, and what it leaves of a run's messages."""

    name: str
    stage: Stage


def each_group(edit: Callable[[Items], Items], *groups: str) -> Stage:
    """Give the stage that edits the messages of these groups, of all where none is named."""

    def stage(content: Content) -> Content:
        return {key: edit(items) if not groups or key[0] in groups else items for key, items in content.items()}

    return stage


def each_message(edit: Callable[[Message], Message | None], *groups: str) -> Stage:
    """Give the stage that replaces each message of these groups, or drops it where ``edit`` gives None."""

    def edited(items: Items) -> Items:
        after = [edit(item) if isinstance(item, Message) else item for item in items]
        if all(one is other for one, other in zip(items, after, strict=True)):
            return items
        return [item for item in after if item is not None]

    return each_group(edited, *groups)


def content_of(run: ScorerRun[Any, Any]) -> Content:
    """Give a run's messages; a custom run may have none."""
    content: dict[tuple[str, str], Items] = {}
    given = run.input
    if isinstance(given, AgentInput):
        content[INPUT, ""] = given.input_messages
        content[REMEMBERED, ""] = given.remembered_messages
        content[SYSTEM, ""] = given.system_messages
        for tag, messages in given.tagged_system_messages.items():
            content[TAGGED, tag] = messages
    if isinstance(run.output, (Messages, list, tuple)):
        content[OUTPUT, ""] = run.output
    return content


def changed_fields(run: ScorerRun[Any, Any], content: Content) -> dict[str, Any]:
    """Give the run's ``input`` and ``output`` that differ from its own."""
    changes: dict[str, Any] = {}
    if (output := content.get((OUTPUT, ""), run.output)) is not run.output:
        changes["output"] = type(run.output)(output)
    given = run.input
    if isinstance(given, AgentInput):
        before = content_of(run)
        inside: dict[str, Any] = {
            _FIELDS[group]: Messages(content[group, ""])
            for group in (INPUT, REMEMBERED, SYSTEM)
            if content[group, ""] is not before[group, ""]
        }
        tagged = {key[1]: items for key, items in content.items() if key[0] == TAGGED and (items or not before[key])}
        if any(tagged.get(tag) is not messages for tag, messages in given.tagged_system_messages.items()):
            inside["tagged_system_messages"] = {tag: Messages(items) for tag, items in tagged.items()}
        if inside:
            changes["input"] = replace(given, **inside)
    return changes


def cuts_between(before: Content, after: Content, *, rule: str, counter: TokenCounter) -> list[Cut]:
    """Record what a rule took, one entry for each field that it cut."""
    cuts: list[Cut] = []
    for group, field in _FIELDS.items():
        gone: list[Any] = []
        came: list[Any] = []
        for key, items in before.items():
            if key[0] == group and after[key] is not items:
                gone += _missing(items, after[key])
                came += _missing(after[key], items)
        if gone:
            cuts.append(
                Cut(
                    rule=rule,
                    what=field,
                    messages=len(gone) - len(came),
                    parts=len(_missing(_parts(gone), _parts(came))),
                    tokens=counter.of_messages(gone) - counter.of_messages(came),
                    counted_by=counter.name,
                )
            )
    return cuts


def _missing(items: Sequence[Any], other: Sequence[Any]) -> list[Any]:
    """Give the items that are not, or not as often, among the others; one object is one item."""
    there = Counter(map(id, other))
    missing: list[Any] = []
    for item in items:
        if there[id(item)]:
            there[id(item)] -= 1
        else:
            missing.append(item)
    return missing


def _parts(items: Sequence[Any]) -> list[Any]:
    return [part for item in items if isinstance(item, Message) for part in item.parts]
