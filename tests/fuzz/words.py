"""The words of each dialect and of the message shapes, read from the code: what a fuzzer must know to get anywhere."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import tracescore.dialects
from tracescore.dialects import KNOWN_DIALECTS

_FOLDER = Path(tracescore.dialects.__file__).parent
_NAME = re.compile(r"[A-Za-z_][\w.:/-]{1,60}")
_NUMBERED = (
    *("0", "0.message.content", "0.message.role", "0.message.tool_calls.0.tool_call.function.name", "0.role"),
    *("0.content", "0.tool_calls.0.name", "1.message.contents.0.message_content.text", "999999999.content"),
)


@cache
def attribute_names() -> dict[str, tuple[str, ...]]:
    """Give the names of attributes and the words of their values, by dialect."""
    found: dict[str, tuple[str, ...]] = {}
    for dialect in KNOWN_DIALECTS.dialects:
        names = set(_constants(Path(_FOLDER, f"{type(dialect).__module__.rpartition('.')[2]}.py")))
        names.update(dialect.content_prefixes, dialect.names, dialect.marks or ())
        names.update(f"{name}{number}" for name in tuple(names) if name.endswith(".") for number in _NUMBERED)
        found[type(dialect).__name__] = tuple(sorted(names))
    return found


@cache
def message_words() -> tuple[str, ...]:
    """Give the keys and kinds that the decoder of messages knows."""
    files = [*_FOLDER.glob("decode_*.py"), _FOLDER / "unwrap.py", _FOLDER / "results.py", _FOLDER / "content.py"]
    return tuple(sorted({word for file in files for word in _constants(file) if "." not in word}))


def _constants(file: Path) -> list[str]:
    tree = ast.parse(file.read_text())
    nodes = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    return [value for value in nodes if isinstance(value, str) and _NAME.fullmatch(value)]
