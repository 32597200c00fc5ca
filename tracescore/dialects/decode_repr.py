"""Messages that a library wrote as the text of its Python objects."""

from __future__ import annotations

import ast
import re
from typing import Any

from tracescore.dialects.decode_tools import is_object

_OBJECT = re.compile(r"[A-Za-z_][\w.]*\(")
_FIELDS = re.compile(r"[A-Za-z_]\w*=\S")
_WORD = re.compile(r"[A-Za-z_][\w.]*")
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|inf|nan)")
_STRING = re.compile(r"[bBrRuUfF]{0,2}(?:'[^'\\]*(?:\\.[^'\\]*)*'|\"[^\"\\]*(?:\\.[^\"\\]*)*\")", re.DOTALL)
_CONSTANTS = {"None": None, "True": True, "False": False}
_MAX_DEPTH = 24
_MAX_HELD = 200
_CLASS = "_class"
_DOTS = "..."
_LAST_STEP = "FinalAnswerStep("
"""What an agent's stream ends with."""
_ANSWERING = ("assistant", "ai", "model")


class _Unreadable(Exception):
    """The text is not the text of objects, or breaks off."""


def object_message(text: str) -> dict[str, Any] | None:
    """Read one message out of the text of its object: ``ChatMessage(role=…)`` or ``source='user' content='…'``.

    ``None`` for any other text.
    """
    if not _OBJECT.match(text) and not _FIELDS.match(text):
        return None
    try:
        value = _Reader(text).whole()
    except (_Unreadable, ValueError, SyntaxError, RecursionError):
        return None
    return _message(value) if is_object(value) else None


def python_value(text: str) -> Any:
    """Read the text of a Python value, such as ``{'city': 'Paris'}``; ``None`` where it is no such text."""
    try:
        return _Reader(text).whole()
    except (_Unreadable, ValueError, SyntaxError, RecursionError):
        return None


def answer_in(text: str) -> dict[str, Any] | None:
    """Find the answer inside the text of an object that a workflow or a stream ended with, also one that breaks off.

    ``None`` where the text is no object's, or none that answers.
    """
    if not _OBJECT.match(text):
        return None
    last = text.rfind(_LAST_STEP)
    try:
        value = _Reader(text[last:] if last > 0 else text, cut_off=True).whole()
    except (_Unreadable, ValueError, SyntaxError, RecursionError):
        return None
    if is_object(value) and value.get(_CLASS) == _LAST_STEP[:-1]:
        given = value.get("output", value.get("final_answer"))
        return {"role": "assistant", "content": given if isinstance(given, str) else [{"data": given}]}
    waiting = [value]
    for _ in range(_MAX_HELD):
        if not waiting or not is_object(found := waiting.pop(0)):
            continue
        message = _message(found)
        if message is not None and message.get("role") in _ANSWERING:
            return message
        waiting += found.values()
    return None


class _Reader:
    """Read the text of Python objects, never running any of it; ``cut_off`` takes what breaks off as far as it goes."""

    def __init__(self, text: str, *, cut_off: bool = False) -> None:
        self._text = text
        self._cut_off = cut_off
        self._at = 0
        self._depth = 0

    def whole(self) -> Any:
        """Read all of the text: one object, or its fields parted by spaces."""
        if _FIELDS.match(self._text):
            fields: dict[str, Any] = {}
            while self._at < len(self._text):
                name = self._word()
                self._expect("=")
                fields[name] = self._value()
                self._space()
            return fields
        value = self._value()
        self._space()
        if self._at != len(self._text):
            raise _Unreadable
        return value

    def _value(self) -> Any:
        self._space()
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise _Unreadable
        try:
            return self._any(self._text[self._at : self._at + 1])
        finally:
            self._depth -= 1

    def _any(self, mark: str) -> Any:
        if mark in ("[", "("):
            return self._items("]" if mark == "[" else ")")
        if mark == "{":
            return self._mapping()
        if mark == "<":
            return self._angled()
        string = _STRING.match(self._text, self._at)
        if string is not None:
            self._at = string.end()
            return _text(string.group())
        if self._cut_off and (not mark or mark in "'\"" or self._text[self._at :] == _DOTS):
            rest = self._text[self._at :].removesuffix(_DOTS)
            self._at = len(self._text)
            return rest[1:] or None
        if mark.isdigit() or mark in "+-":
            number = _NUMBER.match(self._text, self._at)
            if number is None:
                raise _Unreadable
            self._at = number.end()
            digits = number.group()
            return int(digits) if digits.lstrip("+-").isdigit() and len(digits) < 19 else float(digits)
        word = self._word()
        if self._text[self._at : self._at + 1] == "(":
            return self._call(word)
        return _CONSTANTS.get(word, word)

    def _items(self, end: str) -> list[Any]:
        self._at += 1
        items: list[Any] = []
        while not self._ends(end):
            items.append(self._value())
            self._comma(end)
        return items

    def _mapping(self) -> Any:
        self._at += 1
        found: dict[str, Any] = {}
        while not self._ends("}"):
            key = self._value()
            self._space()
            if self._text[self._at : self._at + 1] == ":":
                self._at += 1
                found[str(key)] = self._value()
            self._comma("}")
        return found

    def _call(self, name: str) -> Any:
        self._at += 1
        found: dict[str, Any] = {_CLASS: name.rpartition(".")[2]}
        while not self._ends(")"):
            self._space()
            word = _WORD.match(self._text, self._at)
            if word is not None and self._text[word.end() : word.end() + 1] == "=":
                self._at = word.end() + 1
                found[word.group()] = self._value()
            else:
                found.setdefault("_args", []).append(self._value())
            self._comma(")")
        return found

    def _angled(self) -> Any:
        """Read ``<Role.USER: 'user'>`` as its value, any other object in angles as its text."""
        end = self._text.find(">", self._at)
        if end < 0:
            raise _Unreadable
        inside = self._text[self._at + 1 : end]
        self._at = end + 1
        value = inside.partition(": ")[2]
        return _text(value) if _STRING.fullmatch(value) else inside

    def _word(self) -> str:
        self._space()
        word = _WORD.match(self._text, self._at)
        if word is None:
            raise _Unreadable
        self._at = word.end()
        return word.group()

    def _space(self) -> None:
        while self._text[self._at : self._at + 1].isspace():
            self._at += 1

    def _expect(self, mark: str) -> None:
        if self._text[self._at : self._at + 1] != mark:
            raise _Unreadable
        self._at += 1

    def _ends(self, mark: str) -> bool:
        self._space()
        if self._at >= len(self._text):
            if self._cut_off:
                return True
            raise _Unreadable
        if self._text[self._at] != mark:
            return False
        self._at += 1
        return True

    def _comma(self, end: str) -> None:
        self._space()
        if self._text[self._at : self._at + 1] == ",":
            self._at += 1
        elif self._text[self._at : self._at + 1] != end and not (self._cut_off and self._at == len(self._text)):
            raise _Unreadable


def _text(literal: str) -> str:
    """Read a string; bytes, which no run can hold, stay the text that they were written as."""
    if literal[0] in "'\"" and "\\" not in literal and literal.isprintable():
        return literal[1:-1]
    value = ast.literal_eval(literal)
    return value if isinstance(value, str) else literal


def _message(value: dict[str, Any]) -> dict[str, Any] | None:
    """Bring the fields of a message object under the names that messages have."""
    fields = {key.lstrip("_"): item for key, item in value.items() if key != _CLASS}
    if "role" not in fields and "source" not in fields:
        return None
    content = fields.get("content", fields.get("blocks"))
    if isinstance(content, list):
        fields["content"] = [_block(item) for item in content]
    elif content is not None:
        fields["content"] = content
    extra = fields.get("additional_kwargs")
    calls = extra.get("tool_calls") if is_object(extra) else None
    if isinstance(calls, list) and "tool_calls" not in fields:
        fields["tool_calls"] = calls
    fields.pop("blocks", None)
    return fields


def _block(item: Any) -> Any:
    if not is_object(item):
        return item
    kind = item.get(_CLASS)
    fields = {key: value for key, value in item.items() if key != _CLASS and value is not None}
    if kind in ("ToolCall", "FunctionCall"):
        return {"tool_call": fields}
    if kind in ("ToolCallResult", "FunctionExecutionResult"):
        return {"tool_call_result": fields}
    return fields
