"""The source slice of one function, lambda or class, in a form that is equal on every Python.

Bytecode and syntax trees differ between Pythons; the text does not. Comments, blank lines and the depth of
indentation do not count, strings stay as they are written.
"""

from __future__ import annotations

import ast
import inspect
import io
import tokenize
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any, Generic, TypeAlias, TypeVar

FunctionNode: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
NodeT = TypeVar("NodeT", bound=ast.AST)

_DROPPED = {tokenize.COMMENT, tokenize.NL, tokenize.ENCODING, tokenize.ENDMARKER}
_STRUCTURE = {tokenize.NEWLINE: "\n", tokenize.INDENT: "{", tokenize.DEDENT: "}"}


class NoSource(Exception):
    """The source of an object cannot be read."""


@dataclass(frozen=True, slots=True)
class Source(Generic[NodeT]):
    """The source slice of a function or class: normalised, as it is written, and its syntax node."""

    normalised: str
    written: str
    node: NodeT


def function_source(function: FunctionType) -> Source[FunctionNode]:
    """Give a function's source slice, without its decorators.

    Raises:
        NoSource: there is none (exec, stdin), or it cannot be told which of several lambdas this is.
    """
    text = _module_text(function)
    code = function.__code__
    found = [node for node in _functions(text) if _begins(node, code)]
    if len(found) > 1:
        found = _by_position(found, code) or _by_bytecode(found, code, text)
    if not found:
        raise NoSource(f"the source file does not hold {function.__qualname__} at line {code.co_firstlineno}")
    slices = {normalised(_slice(text, node)) for node in found}
    if len(slices) > 1:
        raise NoSource(f"line {code.co_firstlineno} holds several lambdas that cannot be told apart")
    return Source(slices.pop(), _written(text, found[-1]), found[-1])


def class_source(cls: type[Any]) -> Source[ast.ClassDef]:
    """Give a class's source slice with its decorators.

    A decorator of a function comes back as what it wrapped; one of a class (``dataclass(order=True)``) leaves no trace.

    Raises:
        NoSource: there is none.
    """
    text = _module_text(cls)
    wanted = [name for name in cls.__qualname__.split(".") if name != "<locals>"]
    found = _find_class(_tree(text), wanted)
    if found is None:
        raise NoSource(f"the source file does not hold the class {cls.__qualname__}")
    decorators = "".join(f"@{_slice(text, decorator)}\n" for decorator in found.decorator_list)
    return Source(normalised(decorators + _slice(text, found)), decorators + _written(text, found), found)


def normalised(text: str) -> str:
    """Give a source slice without comments and layout.

    The slice is read inside parentheses where it is an expression, since a lambda may run over several lines.
    """
    if not text.startswith(("def ", "async def ", "class ", "@")):
        text = f"({text}\n)"
    lines = text.splitlines(keepends=True)
    words: list[str] = []
    raw_from: tuple[int, int] | None = None
    depth = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        name = tokenize.tok_name[token.type]
        # From 3.12 on an f-string is many tokens, before it is one: its raw text is the same on both.
        if name.endswith("STRING_START"):
            raw_from = token.start if depth == 0 else raw_from
            depth += 1
        elif name.endswith("STRING_END") and raw_from is not None:
            depth -= 1
            if depth == 0:
                words.append(_between(lines, raw_from, token.end))
                raw_from = None
        elif depth == 0 and token.type not in _DROPPED:
            words.append(_STRUCTURE.get(token.type, token.string))
    return " ".join(words)


def _module_text(thing: Any) -> str:
    try:
        lines, _ = inspect.findsource(thing)
    except (OSError, TypeError, IndexError) as error:
        raise NoSource(str(error)) from error
    return "".join(lines)


@lru_cache(maxsize=32)
def _tree(text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError) as error:
        raise NoSource(f"the source file cannot be parsed: {error}") from error


@lru_cache(maxsize=32)
def _functions(text: str) -> tuple[FunctionNode, ...]:
    return tuple(
        node for node in ast.walk(_tree(text)) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
    )


def _begins(node: FunctionNode, code: CodeType) -> bool:
    if isinstance(node, ast.Lambda):
        return code.co_name == "<lambda>" and node.lineno == code.co_firstlineno
    first = min((decorator.lineno for decorator in node.decorator_list), default=node.lineno)
    return node.name == code.co_name and code.co_firstlineno in (first, node.lineno)


def _by_position(nodes: list[FunctionNode], code: CodeType) -> list[FunctionNode]:
    """Give the innermost of several functions on a line whose body holds every instruction of the code."""
    spots = [
        ((line, column), (end_line, end_column))
        for line, end_line, column, end_column in code.co_positions()
        if line is not None
        and end_line is not None
        and column is not None
        and end_column is not None
        and (line, column) != (end_line, end_column)
    ]
    holding = [
        node
        for node in nodes
        if spots and all(_body_start(node) <= start and end <= _end(node) for start, end in spots)
    ]
    return [max(holding, key=_body_start)] if holding else []


def _by_bytecode(nodes: list[FunctionNode], code: CodeType, text: str) -> list[FunctionNode]:
    """Give those of several functions on a line that compile to the code.

    Some Pythons give no positions to a function that returns a constant; such a one compiles alike anywhere.
    """

    def told(made: CodeType) -> tuple[bytes, str, tuple[str, ...]]:
        return (made.co_code, repr(made.co_consts), made.co_names)  # repr: 1 and 1.0 are equal, and not the same

    def same(node: FunctionNode) -> bool:
        if not isinstance(node, ast.Lambda):
            return False
        compiled = compile(f"({_slice(text, node)}\n)", "<lambda>", "eval")
        return any(told(made) == told(code) for made in compiled.co_consts if isinstance(made, CodeType))

    return [node for node in nodes if same(node)] or nodes


def _body_start(node: FunctionNode) -> tuple[int, int]:
    body = node.body if isinstance(node, ast.Lambda) else node.body[0]
    return (body.lineno, body.col_offset)


def _end(node: FunctionNode) -> tuple[int, int]:
    return (node.end_lineno or node.lineno, node.end_col_offset or 0)


def _find_class(tree: ast.AST, wanted: list[str]) -> ast.ClassDef | None:
    found: ast.ClassDef | None = None
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == wanted[0]:
            if len(wanted) > 1:
                found = _find_class(node, wanted[1:]) or found
            elif isinstance(node, ast.ClassDef):
                found = node
        elif not isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            found = _find_class(node, wanted) or found  # a class under if, try or with
    return found


def _slice(text: str, node: ast.AST) -> str:
    return ast.get_source_segment(text, node) or ""


def _written(text: str, node: FunctionNode | ast.ClassDef) -> str:
    """Give a slice as it is written, its lines moved to the left as far as its first one is."""
    first, *rest = _slice(text, node).splitlines() or [""]
    margin = " " * node.col_offset
    return "\n".join((first, *(line.removeprefix(margin) for line in rest)))


def _between(lines: list[str], start: tuple[int, int], end: tuple[int, int]) -> str:
    picked = lines[start[0] - 1 : end[0]]
    picked[-1] = picked[-1][: end[1]]
    picked[0] = picked[0][start[1] :]
    return "".join(picked)
