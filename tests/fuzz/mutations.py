"""Changes that bytes alone would hardly hit on: JSON whose structure is changed and which is JSON still."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

from tests.fuzz.words import message_words

_NASTY: list[Any] = [None, True, -1, 1.5, 2**63, 10**30, "", "\x00", "\ud83e", "[" * 40, '[{"role": 1}]', [], {}, [[]]]


def mutate(data: bytes, seeds: Sequence[bytes], draw: random.Random) -> bytes:
    """Change bytes in one to four ways, of which some are blind."""
    for _ in range(draw.randint(1, 4)):
        way = draw.choice((_flip, _cut, _splice, None, None, None))
        data = restructure(data, draw) if way is None else way(data, seeds, draw)
    return data


def _flip(data: bytes, _: Sequence[bytes], draw: random.Random) -> bytes:
    if not data:
        return b"{"
    place = draw.randrange(len(data))
    return data[:place] + bytes([draw.randrange(256)]) + data[place + 1 :]


def _cut(data: bytes, _: Sequence[bytes], draw: random.Random) -> bytes:
    start = draw.randrange(len(data) + 1)
    end = draw.randrange(start, len(data) + 1)
    return data[:start] if draw.random() < 0.5 else data[:start] + data[end:]


def _splice(data: bytes, seeds: Sequence[bytes], draw: random.Random) -> bytes:
    other = draw.choice(seeds) if seeds else data
    return data[: draw.randrange(len(data) + 1)] + other[draw.randrange(len(other) + 1) :]


def restructure(data: bytes, draw: random.Random) -> bytes:
    """Change one place of JSON, also inside a text that holds JSON; what is none stays as it is."""
    try:
        return json.dumps(changed(json.loads(data), draw)).encode()
    except (ValueError, RecursionError):
        return data


def changed(value: Any, draw: random.Random) -> Any:
    """Change one place of a value, also inside a text that holds JSON."""
    if isinstance(value, str) and value[:1] in ("[", "{") and draw.random() < 0.8:
        try:
            text = json.dumps(changed(json.loads(value), draw))
        except (ValueError, RecursionError):
            return value
        return text[: -draw.randint(1, 9)] if draw.random() < 0.2 else text
    if not isinstance(value, list | dict) or not value or draw.random() < 0.15:
        return _other(value, draw)
    places = list(value) if isinstance(value, dict) else list(range(len(value)))
    place = draw.choice(places)
    match draw.randrange(8):
        case 0:
            del value[place]
        case 1 if isinstance(value, list):
            value.append(value[place])
        case 1 if isinstance(value, dict):
            value[draw.choice(message_words())] = value[place]
        case 2:
            other = draw.choice(places)
            value[place], value[other] = value[other], value[place]
        case _:
            value[place] = changed(value[place], draw)
    return value


def _other(value: Any, draw: random.Random) -> Any:
    match draw.randrange(6):
        case 0:
            return [value]
        case 1:
            return {draw.choice(message_words()): value}
        case 2:
            return draw.choice(message_words())
        case 3:
            return json.dumps(value)
        case 4:
            return repr(value)
        case _:
            return draw.choice(_NASTY)
