"""The app: scorers, rules and sinks, wired once."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from tracescore.arguments import TEXT, a_list, an, check, optional
from tracescore.errors import ConfigurationError
from tracescore.judge import Judge, with_worker_retries
from tracescore.model import RunKind
from tracescore.pipeline.described import PrepareRun, check_prepare_run
from tracescore.pipeline.rules import Rule, RuleSet, unfinished_or_unknown
from tracescore.redaction import Redaction
from tracescore.scorers import Scorer, Stage
from tracescore.sinks import Sink

_ARGUMENTS = {
    "name": TEXT,
    "judge": optional(an(Judge, "a Judge")),
    "rules": optional(a_list("a list of rules, such as [Rule(scorer)]", lambda rule: isinstance(rule, Rule))),
    "sinks": a_list("a list of sinks, each with a method submit", lambda sink: callable(getattr(sink, "submit", None))),
}
_WITHOUT_MESSAGES: Mapping[RunKind | None, str] = {
    "tool": "arguments and a result",
    "retrieval": "a query and documents",
}
"""Kinds whose runs hold values, not messages."""
_OURS = str(Path(__file__).parent) + os.sep


class TraceScore:
    """What a worker runs: a list of scorers, the rules that feed them, and where scores are written back.

    Without rules every scorer sees every outermost agent run. ``judge`` holds where neither a scorer nor its step
    says otherwise; where none of the three gives error processors, what may pass is retried twice. ``prepare_run``
    runs before any job is planned: what it leaves of a run is what is queued, and where it gives None or calls
    ``not_scorable``, nothing is. ``redaction`` holds for what its workers store, ask and write back, in place of the
    policy that ``TRACESCORE_REDACTION`` names; servers know no app, only the latter. What cannot work fails here, when
    the app is built.

    Example:
        >>> from tracescore.scorers import scorer
        >>> @scorer(id="brevity")
        ... def brevity(run):
        ...     return 1.0 if len(run.output.text) < 280 else 0.5
        >>> app = TraceScore(scorers=[brevity], rules=[Rule(brevity, where={"environment": "production"})])
        >>> list(app.scorers)
        ['brevity']
    """

    def __init__(
        self,
        scorers: Sequence[Scorer[Any, Any, Any]],
        *,
        rules: Iterable[Rule] | None = None,
        sinks: Iterable[Sink] = (),
        judge: Judge | None = None,
        prepare_run: PrepareRun | None = None,
        redaction: Redaction | None = None,
        name: str = "default",
    ) -> None:
        check("TraceScore", _ARGUMENTS, {"name": name, "sinks": sinks, "judge": judge, "rules": rules})
        if isinstance(scorers, (Scorer, Stage)) or not isinstance(scorers, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigurationError(f"TraceScore(scorers={scorers!r:.80}): give a list of scorers, such as [scorer]")
        if not name.strip():
            raise ConfigurationError("TraceScore(name=...) is empty")
        self.name = name
        self.judge = with_worker_retries(judge)
        if redaction is not None and not isinstance(redaction, Redaction):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigurationError(f"TraceScore(redaction=...) takes a Redaction, not {type(redaction).__name__}")
        self.redaction = redaction
        self.sinks = tuple(sinks)
        self.scorers: dict[str, Scorer[Any, Any, Any]] = {}
        for given in scorers:
            if not isinstance(given, Scorer):  # pyright: ignore[reportUnnecessaryIsInstance]  # untyped callers
                raise unfinished_or_unknown(given, "TraceScore(scorers=...)")
            if given.id in self.scorers:
                raise ConfigurationError(f"two scorers have the id {given.id!r}")
            scorer = given.with_default_judge(self.judge)
            scorer.check()
            self.scorers[scorer.id] = scorer
        if rules is None:
            rules = [Rule(scorer, sample_rate=1.0) for scorer in self.scorers.values()]
        check_prepare_run(prepare_run, "TraceScore(...)")
        self.rule_set = RuleSet(rules, scorers=self.scorers, prepare_run=prepare_run)
        for rule in self.rule_set.rules:
            _check_type(rule, self.scorers[rule.scorer_id])

    def __repr__(self) -> str:
        return f"TraceScore(name={self.name!r}, scorers={list(self.scorers)})"


def _check_type(rule: Rule, scorer: Scorer[Any, Any, Any]) -> None:
    """Refuse a rule whose runs hold no messages, for a scorer that takes nothing else."""
    if rule.kind in _WITHOUT_MESSAGES and scorer.type == "agent":
        raise ConfigurationError(
            f"rule for {scorer.id!r}: it asks for runs of kind {rule.kind!r}, which hold "
            f'{_WITHOUT_MESSAGES[rule.kind]}, and the scorer takes messages (as each @scorer and type="agent" does): '
            f"make it with create_scorer(id={scorer.id!r}) without type=, see docs/scorers.md"
        )


def load_app(location: str) -> TraceScore:
    """Load the app at ``"module:attribute"``; the working directory is on the import path.

    Raises:
        ConfigurationError: saying which part of the location, or what in the module, is at fault.
    """
    check("load_app", {"location": TEXT}, {"location": location})
    module_name, colon, attribute = location.partition(":")
    if not (module_name and colon and attribute):
        raise ConfigurationError(f"app {location!r}: expected 'module:attribute', such as 'scoring:app'")
    if {"/", "\\"} & set(module_name) or module_name.startswith(".") or module_name.endswith(".py"):
        name = Path(module_name.replace("\\", "/")).name.removesuffix(".py").strip(".") or "scoring"
        raise ConfigurationError(
            f"app {location!r}: {module_name!r} is no module's name: give {f'{name}:{attribute}'!r} in the folder "
            f"where {name}.py is, or names with dots between them"
        )
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if module_name == missing or module_name.startswith(f"{missing}."):
            raise ConfigurationError(f"app {location!r}: there is no module {missing!r} in {here}") from error
        said = f"{module_name} imports {missing!r}, which is missing"
        raise ConfigurationError(f"app {location!r}: {_where(error, here)}{said}") from error
    except ConfigurationError as error:
        raise ConfigurationError(f"app {location!r}: {_where(error, here)}{error}") from error
    except SystemExit as error:
        code = "" if error.code is None else repr(error.code)
        said = f"importing it called sys.exit({code}): a module of an app must not end"
        raise ConfigurationError(f"app {location!r}: {_where(error, here)}{said}") from error
    except Exception as error:  # a user's module may raise anything as it is imported
        said = f"importing it failed: {type(error).__name__}: {error}"
        raise ConfigurationError(f"app {location!r}: {_where(error, here)}{said}") from error
    value: Any = module
    for part in attribute.split("."):
        names = [name for name in vars(value) if not name.startswith("_")] if hasattr(value, "__dict__") else []
        if not hasattr(value, part):
            nearest = get_close_matches(part, names, n=1)
            hint = f"; did you mean {nearest[0]!r}?" if nearest else ""
            raise ConfigurationError(f"app {location!r}: {module_name} has no {part!r}{hint}")
        value = getattr(value, part)
    if not isinstance(value, TraceScore):
        raise ConfigurationError(f"app {location!r}: {attribute} is a {type(value).__name__}, not a TraceScore")
    return value


def _where(error: BaseException, here: str) -> str:
    """Give ``file:line: `` of what an import failed at: the last line of the user's own, as far as that can be told."""
    if isinstance(error, SyntaxError) and error.filename:  # the file that could not be read is in no traceback
        return f"{_shown(error.filename, here)}:{error.lineno}: "
    frames = [
        (frame.filename, frame.lineno)
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith(("<", _OURS))
    ]
    own = [frame for frame in frames if Path(frame[0]).is_relative_to(here) and "site-packages" not in frame[0]]
    for filename, line in reversed(own or frames):
        return f"{_shown(filename, here)}:{line}: "
    return ""


def _shown(filename: str, here: str) -> str:
    path = Path(filename)
    return str(path.relative_to(here)) if path.is_relative_to(here) else filename
