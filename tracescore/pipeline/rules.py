"""Rules: which runs a scorer sees, and how often."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from difflib import get_close_matches
from functools import cached_property
from typing import Any, TypeAlias

import orjson

from tracescore.arguments import FLAG, Wanted, check
from tracescore.errors import ConfigurationError
from tracescore.judge import UNSET, Given
from tracescore.model import RUN_KINDS, RunKind, ScorerRun, ScoreSource
from tracescore.pipeline.described import PrepareRun, check_prepare_run, described, same_prepare_run
from tracescore.scorers import Scorer

Scalar: TypeAlias = str | int | float | bool | None
Condition: TypeAlias = Scalar | Sequence[Scalar]

ATTRIBUTES = "attributes."
_FIELDS: Mapping[str, Callable[[ScorerRun[Any, Any]], Any]] = {
    "agent": lambda run: run.agent_name,
    "environment": lambda run: run.environment,
    "model": lambda run: run.model,
    "name": lambda run: run.name,
    "provider": lambda run: run.provider,
    "service": lambda run: run.service,
    "session": lambda run: run.session_id,
    "status": lambda run: run.status,
    "tags": lambda run: run.tags,
    "tool": lambda run: run.name,
}
_COMMON = ("agent", "environment", "service", "session", "status", "tags")
_MODEL = (*_COMMON, "model", "provider")
_NAMED = (*_COMMON, "name")
KEYS: Mapping[RunKind, tuple[str, ...]] = {
    "agent": _MODEL,
    "trace": _MODEL,
    "session": _MODEL,
    "llm": _MODEL,
    "tool": (*_COMMON, "tool"),
    "workflow": _NAMED,
    "step": _NAMED,
    "retrieval": _NAMED,
    "span": _NAMED,
}
"""What a rule may ask of the runs of each kind, attributes apart."""
_NESTING = ("agent", "trace", "workflow")
"""Kinds of which a rule sees the outermost, unless it says otherwise."""
_STATUSES = ("ok", "error", "paused")
_NEVER_NONE = ("status", "tags")
_SCALARS = (str, int, float, type(None))
_ARGUMENTS = {
    "where": Wanted(
        words="a mapping of names to values, such as {'agent': 'supervisor'}",
        fits=lambda value: isinstance(value, Mapping) and all(isinstance(key, str) for key in value),
    ),
    "nested": FLAG,
    "paused": FLAG,
}


@dataclass(frozen=True, slots=True)
class Rule:
    """Let a scorer see the runs that fit, and of those a share.

    ``where`` holds conditions that must all hold: ``agent``, ``service``, ``environment``, ``session``, ``status``,
    ``tags`` (any of the run's) and ``attributes.<name>``; ``model`` and ``provider`` of agents, sessions and model
    calls, ``tool`` of tools, ``name`` of the other kinds; each a value or a list of values of which one must be equal.
    Without more, a rule sees outermost agent runs and the one run of a trace that has none; one that names an agent,
    or says ``nested=True``, sees nested runs too.

    ``kind=`` asks for other targets: ``"agent"`` or ``"trace"`` alone; ``"session"``, the runs of one conversation,
    once it is idle; ``"llm"``, ``"tool"`` and ``"retrieval"``, each call wherever it is; ``"workflow"``, the outermost
    unless ``nested=True``, and ``"step"``; ``"span"``, every span that is none of these. ``ScorerRun`` says what their
    input and output are.

    A run that waits for an approval is seen by no rule but one that says ``paused=True``, or names ``status``.

    ``sample_rate`` is the share of runs, from 0 to 1; all for a scorer without a judge unless given, and to be stated
    for one with a judge.

    ``prepare_run`` runs before a job is planned, behind the app's and before the scorer's own: what it leaves of a run
    is what is queued. None or ``not_scorable`` queues nothing.

    Example:
        >>> from tracescore.scorers import scorer
        >>> @scorer(id="brevity")
        ... def brevity(run):
        ...     return 1.0 if len(run.output.text) < 280 else 0.5
        >>> rule = Rule(brevity, sample_rate=0.1, where={"agent": ["supervisor", "writer"]})
    """

    scorer: Scorer[Any, Any, Any] | str
    _: KW_ONLY
    where: Mapping[str, Condition] = field(default_factory=dict)
    sample_rate: Given[float] = UNSET
    kind: RunKind | None = None
    nested: bool = False
    paused: bool = False
    prepare_run: PrepareRun | None = None

    def __post_init__(self) -> None:
        name = self.scorer_id
        if self.kind is not None and self.kind not in RUN_KINDS:
            raise ConfigurationError(
                f"rule for {name!r}: kind {self.kind!r} is unknown{_nearest(self.kind, RUN_KINDS)}"
            )
        check(f"rule for {name!r}: Rule", _ARGUMENTS, {one: getattr(self, one) for one in _ARGUMENTS})
        keys = KEYS[self.kind or "agent"]
        for key, condition in self.where.items():
            if not all(isinstance(value, _SCALARS) for value in _values(condition)):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise ConfigurationError(
                    f"rule for {name!r}: where {key!r} is a text, a number, a truth value, None, or a list of them, "
                    f"not {condition!r:.80}"
                )
            if key not in keys and not (key.startswith(ATTRIBUTES) and len(key) > len(ATTRIBUTES)):
                what = f"is none of kind {self.kind or 'agent'!r}" if key in _FIELDS else "is unknown"
                known = (*keys, f"{ATTRIBUTES}<name>")
                raise ConfigurationError(f"rule for {name!r}: where key {key!r} {what}{_nearest(key, known)}")
            if key in keys and not all(_is_text_of(key, value) for value in _values(condition)):
                raise ConfigurationError(
                    f"rule for {name!r}: where {key!r} is {condition!r:.80}, which no run has: give a text, or a list "
                    f"of texts{'' if key in _NEVER_NONE else '; None is a run without one'}"
                )
        for status in _values(self.where.get("status", ())):
            if status not in _STATUSES:
                raise ConfigurationError(f"rule for {name!r}: status {status!r} is none{_nearest(status, _STATUSES)}")
        check_prepare_run(self.prepare_run, f"rule for {name!r}")
        rate = self.sample_rate
        if rate is not UNSET and not _fits_rate(rate):
            raise ConfigurationError(
                f"rule for {name!r}: sample_rate {rate!r:.80} is not between 0 and 1 (0.1 is one run in ten)"
            )
        if rate is UNSET and isinstance(self.scorer, Scorer) and self.scorer.needs_judge:
            raise ConfigurationError(
                f"rule for {name!r}: it asks a judge for each run that it sees; state sample_rate= (1 is all of them)"
            )

    @property
    def scorer_id(self) -> str:
        """Give the id of the rule's scorer."""
        if isinstance(self.scorer, str):
            return self.scorer
        if not isinstance(self.scorer, Scorer):  # pyright: ignore[reportUnnecessaryIsInstance]  # untyped callers
            raise unfinished_or_unknown(self.scorer, "Rule(...)")
        return self.scorer.id

    @property
    def rate(self) -> float:
        """Give the sample rate as a number."""
        return 1.0 if self.sample_rate is UNSET else float(self.sample_rate)

    @property
    def hash(self) -> str:
        """Give the hash of what the rule sees.

        Its rate and its prepare_run are not in it: a rule of which these change stays the same rule.
        """
        return rule_hash(self.spec())

    def spec(self) -> dict[str, Any]:
        """Give the rule as JSON."""
        return {
            "scorer": self.scorer_id,
            "where": {key: _values(condition) for key, condition in sorted(self.where.items())},
            "sample_rate": self.rate,
            "kind": self.kind,
            "nested": self.nested,
            **({"paused": True} if self.paused else {}),
            **({} if self.prepare_run is None else {"prepare_run": described(self.prepare_run)}),
        }

    def sees(self, run: ScorerRun[Any, Any]) -> bool:
        """Tell whether a run fits the rule, sampling apart."""
        if self.kind is not None and run.kind != self.kind:
            return False
        if self.kind is None and run.kind not in ("agent", "trace"):
            return False
        if run.kind in _NESTING and not (run.outermost or self.nested or "agent" in self.where):
            return False
        if run.status == "paused" and not (self.paused or "status" in self.where):
            return False
        return all(_holds(run, key, condition) for key, condition in self.where.items())


@dataclass(frozen=True, kw_only=True, slots=True)
class Planned:
    """A scorer that is to see a run: with what probability it came to that, and by which rule."""

    scorer: Scorer[Any, Any, Any]
    probability: float
    rule: Rule
    sampled_in: bool = True


class RuleSet:
    """The rules of an app, each with its scorer."""

    def __init__(
        self,
        rules: Iterable[Rule],
        *,
        scorers: Mapping[str, Scorer[Any, Any, Any]],
        prepare_run: PrepareRun | None = None,
    ) -> None:
        self.rules = tuple(rules)
        self._scorers = dict(scorers)
        self._prepare_run = prepare_run
        self._own_prepare_run = one_prepare_run_each(self.rules)
        for rule in self.rules:
            if rule.scorer_id not in self._scorers:
                raise ConfigurationError(
                    f"a rule names the scorer {rule.scorer_id!r}, which the app does not have"
                    f"{_nearest(rule.scorer_id, self._scorers)}"
                )
            if rule.sample_rate is UNSET and isinstance(rule.scorer, str) and self._scorers[rule.scorer].needs_judge:
                raise ConfigurationError(f"rule for {rule.scorer!r}: it asks a judge; state sample_rate=")

    @cached_property
    def hash(self) -> str:
        """Give the hash of all rules, their rates, and what prepares runs for them."""
        if self._prepare_run is None:
            return _hash(self.spec())
        return _hash({"prepare_run": described(self._prepare_run), "rules": self.spec()})

    @property
    def rule_hashes(self) -> tuple[str, ...]:
        """Give each rule's own hash, in order: what ``first_seen`` is kept by."""
        return tuple(rule.hash for rule in self.rules)

    @property
    def kinds(self) -> frozenset[RunKind]:
        """Give the kinds that are stored only because a rule asks for them."""
        return frozenset(rule.kind for rule in self.rules if rule.kind not in (None, "agent", "trace"))

    def kinds_for(self, scorer_id: str) -> frozenset[RunKind]:
        """Give the kinds that a scorer's rules are about; agents' runs where it has no rule."""
        asked: set[RunKind | None] = {rule.kind for rule in self.rules if rule.scorer_id == scorer_id}
        kinds: set[RunKind] = {kind for kind in asked if kind is not None}
        if None in asked or not asked:
            kinds |= {"agent", "trace"}
        return frozenset(kinds)

    def spec(self) -> list[dict[str, Any]]:
        """Give the rules as JSON."""
        return [rule.spec() for rule in self.rules]

    def stages(self, scorer_id: str) -> tuple[PrepareRun, ...]:
        """Give what a run goes through before it is planned for a scorer: the app's, then the rules'."""
        stages = (self._prepare_run, self._own_prepare_run.get(scorer_id))
        return tuple(stage for stage in stages if stage is not None)

    def decide(
        self,
        run: ScorerRun[Any, Any],
        *,
        source: ScoreSource = "live",
        first_arrival_ns: int | None = None,
        first_seen: Mapping[str, int] | None = None,
    ) -> list[Planned]:
        """Give every scorer that a rule lets see the run, sampled in or not.

        A scorer's probability is the highest rate among the rules that fit, and the same number of the run decides
        for all: what a low rate takes, a higher one takes too. For live scoring, a rule does not see runs whose first
        span arrived before the rule was first seen.

        Args:
            run: the assembled run.
            source: ``"live"`` heeds ``first_seen``; any other does not.
            first_arrival_ns: when the run's first span arrived.
            first_seen: when each rule was first seen, by its hash.
        """
        draw = sample_number(run)
        best: dict[str, Rule] = {}
        for rule in self.rules:
            if source == "live" and first_seen is not None and first_arrival_ns is not None:
                seen = first_seen.get(rule.hash)
                if seen is None or first_arrival_ns < seen:
                    continue
            known = best.get(rule.scorer_id)
            if (known is None or rule.rate > known.rate) and rule.sees(run):
                best[rule.scorer_id] = rule
        return [
            Planned(scorer=self._scorers[name], probability=rule.rate, rule=rule, sampled_in=draw < rule.rate)
            for name, rule in best.items()
        ]

    def match(
        self,
        run: ScorerRun[Any, Any],
        *,
        source: ScoreSource = "live",
        first_arrival_ns: int | None = None,
        first_seen: Mapping[str, int] | None = None,
    ) -> list[Planned]:
        """Give the scorers that are to see the run: those of ``decide`` that are sampled in."""
        decided = self.decide(run, source=source, first_arrival_ns=first_arrival_ns, first_seen=first_seen)
        return [planned for planned in decided if planned.sampled_in]


def one_prepare_run_each(rules: Sequence[Rule]) -> dict[str, PrepareRun | None]:
    """Give each scorer's prepare_run.

    Raises:
        ConfigurationError: two rules name one scorer with another prepare_run: a run has one job for it, not two.
    """
    found: dict[str, PrepareRun | None] = {}
    for rule in rules:
        known = found.setdefault(rule.scorer_id, rule.prepare_run)
        if not same_prepare_run(known, rule.prepare_run):
            raise ConfigurationError(
                f"the rules for {rule.scorer_id!r} have different prepare_runs: give them all the same one, or make "
                "two scorers of it"
            )
    return found


def rule_hash(spec: Mapping[str, Any]) -> str:
    """Give the hash of a rule that is given as JSON."""
    return _hash({name: value for name, value in spec.items() if name not in ("sample_rate", "prepare_run")})


def sample_number(run: ScorerRun[Any, Any]) -> float:
    """Give the number from 0 to 1 that decides on sampling: of the trace, or of the session for a session's run."""
    basis = run.session_id if run.kind == "session" else run.trace_id
    digest = hashlib.sha256((basis or run.run_id).encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


def unfinished_or_unknown(thing: Any, where: str) -> ConfigurationError:
    """Give the error of something that should be a scorer and is none."""
    unfinished = getattr(thing, "refuse", None)
    if unfinished is not None:
        try:
            unfinished()
        except ConfigurationError as error:
            return error
    return ConfigurationError(f"{where} takes scorers, not {type(thing).__name__}: {thing!r:.80}")


def _holds(run: ScorerRun[Any, Any], key: str, condition: Condition) -> bool:
    wanted = _values(condition)
    if key == "tags":
        return any(tag in wanted for tag in run.tags)
    name = key.removeprefix(ATTRIBUTES)
    actual = run.attributes.get(name) if key.startswith(ATTRIBUTES) else _FIELDS[key](run)
    # 1 == True in Python, and not in an attribute.
    return any(actual == value and isinstance(actual, bool) == isinstance(value, bool) for value in wanted)


def _values(condition: Condition) -> list[Scalar]:
    if not isinstance(condition, Iterable) or isinstance(condition, (str, bytes, Mapping)):
        return [condition]  # pyright: ignore[reportReturnType]  # of other kinds while a rule is looked through
    return list(condition)


def _is_text_of(key: str, value: Scalar) -> bool:
    return isinstance(value, str) or (value is None and key not in _NEVER_NONE)


def _fits_rate(rate: Any) -> bool:
    return isinstance(rate, (int, float)) and not isinstance(rate, bool) and 0 <= rate <= 1


def _nearest(name: Any, known: Iterable[str]) -> str:
    names = list(known)
    nearest = get_close_matches(str(name), names, n=1, cutoff=0.5)
    hint = f"; did you mean {nearest[0]!r}?" if nearest else "."
    return f"{hint} Known are {', '.join(names)}"


def _hash(spec: Any) -> str:
    return hashlib.sha256(orjson.dumps(spec, option=orjson.OPT_SORT_KEYS)).hexdigest()[:32]
