"""The redaction policy: versioned rules, and what stands at each of its doors."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

import orjson

from tracescore.arguments import FLAG, a_list, an, check, optional
from tracescore.errors import ConfigurationError
from tracescore.model import ScorerRun
from tracescore.redaction.markers import Hashed, Numbered, TextRedactor
from tracescore.redaction.personal_rules import PERSONAL_RULES
from tracescore.redaction.rules import DOORS, Door, RedactionRule, check_door
from tracescore.redaction.secret_rules import SECRET_RULES
from tracescore.redaction.store_door import StoreDoor
from tracescore.redaction.sweep import DoorRules

ALGORITHM = 1
"""Stands before each version; changed with how rules are applied, so that no version means two things."""
_ARGUMENTS = {
    "rules": a_list("a list of RedactionRule", lambda rule: isinstance(rule, RedactionRule)),
    "defaults": FLAG,
    "doors": optional(an(Mapping, "a mapping of doors to lists of kinds, such as {'sink': ['email']}")),
}
DEFAULT_RULES: tuple[RedactionRule, ...] = (*SECRET_RULES, *PERSONAL_RULES)


class Redaction:
    """What must not pass into the store, to a judge, or out to a sink.

    By default secrets pass no door, and e-mail addresses, phone numbers and card numbers pass neither to judges nor to
    sinks. Typed markers stand in their place.

    Args:
        rules: rules of your own, beside the default ones and looked at before them.
        defaults: False for your own rules alone.
        doors: for each door that is named here, the kinds that are kept from it, in place of what the rules say.

    Example:
        >>> policy = Redaction(doors={"store": ["private_key", "api_key", "token", "password", "email"], "sink": []})
        >>> policy.judge_redactor().redact("Write to ada@example.com or bob@example.com, not to ada@example.com.")
        'Write to [email:1] or [email:2], not to [email:1].'

    Raises:
        ConfigurationError: an unknown door or kind, with the nearest.
    """

    def __init__(
        self,
        *,
        rules: Iterable[RedactionRule] = (),
        defaults: bool = True,
        doors: Mapping[Door, Iterable[str]] | None = None,
    ) -> None:
        rules = tuple(rules) if isinstance(rules, Iterable) and not isinstance(rules, str) else rules  # pyright: ignore[reportUnnecessaryIsInstance]
        check("Redaction", _ARGUMENTS, {"rules": rules, "defaults": defaults, "doors": doors})
        self.rules: tuple[RedactionRule, ...] = (*rules, *(DEFAULT_RULES if defaults else ()))
        self.doors: dict[Door, tuple[str, ...]] = {
            door: tuple(sorted({rule.kind for rule in self.rules if door in rule.doors})) for door in DOORS
        }
        chosen: dict[Door, set[str]] = {}
        for door, kinds in (doors or {}).items():
            check_door(door)
            chosen[door] = set(self._checked(door, kinds))
            self.doors[door] = tuple(sorted(chosen[door]))
        self.version = self._version(chosen)
        held: dict[Door, list[RedactionRule]] = {
            door: [rule for rule in self.rules if (rule.kind in chosen[door] if door in chosen else door in rule.doors)]
            for door in DOORS
        }
        self._rules = {door: DoorRules(rules) for door, rules in held.items()}
        self.store_door = StoreDoor(self._rules["store"], in_json=all(rule.in_json for rule in held["store"]))

    def __repr__(self) -> str:
        return f"Redaction(version={self.version!r})"

    def store_redactor(self, salt: str) -> Hashed:
        """Give what makes texts fit for the store; markers are the same wherever the salt, a trace's id, is."""
        return Hashed(self._rules["store"], salt)

    def judge_redactor(self, run: ScorerRun[Any, Any] | None = None) -> TextRedactor:
        """Give what makes the texts of one run fit for a judge.

        Equal values have equal markers. They are numbered as they stand in the run, so that every scorer and every
        attempt numbers alike; without a run, as they come.
        """
        return Numbered(self._rules["judge"], run)

    def sink_redactor(self) -> TextRedactor:
        """Give what makes the texts of one outcome fit for a sink; markers that stand there already are counted on."""
        return Numbered(self._rules["sink"])

    def _checked(self, door: str, kinds: Iterable[str]) -> Iterable[str]:
        known = sorted({rule.kind for rule in self.rules})
        if isinstance(kinds, str) or not isinstance(kinds, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigurationError(
                f"Redaction(doors={{{door!r}: {kinds!r}}}): give a list of kinds, such as ['email']"
            )
        for kind in kinds:
            if kind not in known:
                near = get_close_matches(kind, known, n=1, cutoff=0.4)
                hint = f"; did you mean {near[0]!r}?" if near else "."
                raise ConfigurationError(
                    f"Redaction(doors={{{door!r}: ...}}): there is no kind {kind!r}{hint} There are {', '.join(known)}"
                )
            yield kind

    def _version(self, chosen: Mapping[Door, set[str]]) -> str:
        described = [
            [
                rule.kind,
                rule.pattern,
                rule.hint,
                rule.ignore_case,
                getattr(rule.check, "__qualname__", type(rule.check).__qualname__),
                rule.names,
                sorted(rule.doors),
                rule.in_json,
            ]
            for rule in self.rules
        ]
        doors = {door: sorted(kinds) for door, kinds in chosen.items()}
        encoded = orjson.dumps([described, doors], option=orjson.OPT_SORT_KEYS)
        return f"{ALGORITHM}-{hashlib.sha256(encoded).hexdigest()[:12]}"
