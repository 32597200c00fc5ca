"""What a version was made of, in words: kept beside the version, so that two of them can be told apart."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from tracescore.errors import ScorerError
from tracescore.scorers.canonical import Code
from tracescore.scorers.running import Scorer

TEXT_LIMIT = 16_000
"""Characters that are kept of one fact."""
HIDDEN = "(not shown)"
_SECRET_NAME = re.compile(r"api_?key|(?<![a-z])key(?![a-z])|token(?!s|i[sz])|secret|passw|credential", re.IGNORECASE)
_SECRET_IN_CODE = re.compile(
    r"""(\w*(?:api_?key|token|secret|passw|credential)\w*["']?\s*[=:]\s*[rbuf]*)(["']).+?\2""", re.IGNORECASE
)
_SECRET_VALUE = re.compile(
    r"\b(?:sk|pk|rk|ghp|gho|glpat|xox[abprs]|hf)[-_][A-Za-z0-9_-]{8,}"
    r"|\bAKIA[A-Z0-9]{12,}|\beyJ[\w-]{10,}\.[\w-]+(?:\.[\w-]*)?|\bBearer\s+\S+|://[^\s/:@]+:[^\s/@]+@"
)


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that a version depends on.

    ``digest`` is of the whole value; ``text`` may be cut, and what looks like a secret is not in it.
    """

    label: str
    text: str
    digest: str


def describe_scorer(scorer: Scorer[Any, Any, Any]) -> tuple[Fact, ...]:
    """Describe what makes a scorer's result; of one with a given version and no readable source there is little."""
    definition = scorer._definition
    try:
        matter: Mapping[str, Any] = definition.matter()
    except ScorerError:
        matter = {"range": definition.score_range, "steps": [{"name": step.name} for step in definition.steps]}
    facts: dict[str, Fact] = {}
    for label, value, shown in _facts(matter):
        unique = label
        number = 2
        while unique in facts:
            unique = f"{label} #{number}"
            number += 1
        digest = hashlib.sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]
        facts[unique] = Fact(unique, _safe(label, shown), digest)
    return tuple(facts.values())


def dump_facts(facts: Sequence[Fact]) -> bytes:
    """Give facts as they are stored."""
    return orjson.dumps([[fact.label, fact.text, fact.digest] for fact in facts])


def load_facts(stored: bytes) -> tuple[Fact, ...]:
    """Read facts back from ``dump_facts``."""
    return tuple(Fact(*map(str, item)) for item in orjson.loads(stored))


def _facts(matter: Mapping[str, Any]) -> Iterator[tuple[str, Any, str]]:
    """Give label, value and shown text of all there is in a scorer's matter."""
    steps: Sequence[Mapping[str, Any]] = matter["steps"]
    yield "range", matter["range"], _shown(matter["range"])
    yield "steps", [step["name"] for step in steps], ", ".join(step["name"] for step in steps)
    for name, kind in zip(("type", "input type", "output type"), matter.get("types", ()), strict=False):
        if kind is not None:
            yield from _value(name, kind)
    for name, value in matter.items():
        if value and name not in ("range", "steps", "types"):
            yield from _value(name, value)
    for step in steps:
        for part, value in step.items():
            if part == "name" or value is None:
                continue
            where = f"{step['name']}, {part.replace('_', ' ')}"
            if part == "judge":
                for setting, given in value[1]:
                    yield from _value(f"{step['name']}, judge {setting}", given)
            elif part == "schema":
                yield where, value, orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
            else:
                yield from _value(where, value)


def _value(label: str, value: Any) -> Iterator[tuple[str, Any, str]]:
    """Give a value as one fact, and the code in it as facts of its own."""
    if isinstance(value, Code):
        yield from _code(label, value)
        return
    if not _is_seen(value):
        yield label, _without_code(value), _shown(value)
    yield from _code_in(value)


def _code(label: str, code: Code) -> Iterator[tuple[str, Any, str]]:
    yield label, code.get("source", code.get("class")), code.written
    for kind, words in (
        ("defaults", "defaults of"),
        ("kwdefaults", "keyword defaults of"),
        ("bases", "bases of"),
    ):
        if code.get(kind) and code[kind] not in (["tuple", []], ["mapping", []]):
            yield from _value(f"{words} {code.name}", code[kind])
    for kind, words in (
        ("captured", "captured by"),
        ("reached", "used by"),
        ("constants", "in"),
        ("loaded", "used by"),
    ):
        for name, value in code.get(kind, {}).items():
            if isinstance(value, Code):
                yield from _code(f"source of {value.name}", value)
            elif isinstance(value, dict):  # a method's own reach
                for inner, reached in value.items():
                    yield from _value(f"{inner}, used by {code.name}.{name}", reached)
            else:
                yield from _value(f"{name}, {words} {code.name}", value)


def _code_in(value: Any) -> Iterator[tuple[str, Any, str]]:
    if isinstance(value, Code):
        yield from _code(f"source of {value.name}", value)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _code_in(item)


def _is_seen(value: Any) -> bool:
    return isinstance(value, list) and value[:1] == ["seen"]


def _without_code(value: Any) -> Any:
    """Leave out code, and which number it had: both would tell one change as many."""
    if isinstance(value, Code):
        return ["code", value.name]
    if _is_seen(value):
        return ["code"]
    if isinstance(value, (list, tuple)):
        return [_without_code(item) for item in value]
    return value


def _shown(value: Any) -> str:
    """Write the canonical form of a value much as it stands in code."""
    if isinstance(value, Code):
        return value.name
    if isinstance(value, str):
        return value
    if not isinstance(value, (list, tuple)):
        return repr(value)
    match list(value):
        case [("list" | "tuple") as kind, [*items]]:
            inside = ", ".join(map(_inner, items))
            return f"[{inside}]" if kind == "list" else f"({inside}{',' if len(items) == 1 else ''})"
        case ["set", [*items]]:
            return f"{{{', '.join(map(_inner, items))}}}"
        case ["mapping", [*pairs]]:
            return f"{{{', '.join(_pair(*pair) for pair in pairs)}}}"
        case ["seen", _]:
            return "…"
        case ["named", module, name, *_]:
            return f"{module}.{name}" if module else str(name)
        case [str(word), *rest] if rest:
            return f"{word} {' '.join(map(_inner, rest))}"
        case items:
            return f"[{', '.join(map(_inner, items))}]"


def _pair(key: Any, value: Any) -> str:
    hidden = isinstance(key, str) and isinstance(value, str) and _SECRET_NAME.search(key)
    return f"{_inner(key)}: {HIDDEN if hidden else _inner(value)}"


def _inner(value: Any) -> str:
    return repr(value) if isinstance(value, str) else _shown(value)


def _safe(label: str, text: str) -> str:
    """Cut a text, and hide what looks like a secret: by the name that holds it, or by its form."""
    name, held, _ = label.partition(", ")
    if held and name.isidentifier() and _SECRET_NAME.search(name):
        return HIDDEN
    text = _SECRET_IN_CODE.sub(rf"\g<1>{HIDDEN}", text[:TEXT_LIMIT])
    return _SECRET_VALUE.sub(HIDDEN, text)
