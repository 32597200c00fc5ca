"""What this process learned of an endpoint's model: what it clearly refused is not sent to it again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from tracescore.errors import JudgeSettingRefused

SCHEMA = "response_format"
"""How a refusal names native structured output."""
_OUTPUT_LIMIT = "max_output_tokens"
_LIMIT_NAMES = ("max_completion_tokens", "max_tokens")
_KEPT = 1024


@dataclass(slots=True)
class EndpointFacts:
    """What one model of one endpoint refused. Filled from clear refusals only, never from a guess."""

    schema_refused: bool = False
    names: dict[str, str] = field(default_factory=dict)
    """How the endpoint wants a setting to be called, where it said so."""
    _dropped: set[tuple[str, str | None]] = field(default_factory=set)

    def learn(self, refusal: JudgeSettingRefused, sampling: Mapping[str, Any]) -> str | None:
        """Remember a refused setting and say what is done instead; None where nothing new can be done."""
        name = refusal.setting
        if name == SCHEMA:
            if self.schema_refused:
                return None
            self.schema_refused = True
            return "the model refuses a schema beside the messages: it stands in the prompt"
        if name not in sampling:
            return None
        # A request that was under way while the name was learned went out under the old one.
        renamed = name in self.names and self.names[name] != refusal.sent_as
        if name == _OUTPUT_LIMIT and refusal.sent_as in _LIMIT_NAMES and (renamed or name not in self.names):
            self.names[name] = next(other for other in _LIMIT_NAMES if other != refusal.sent_as)
            return f"{name} is sent as {self.names[name]}: the model refuses {refusal.sent_as}"
        key = (name, repr(sampling[name]) if refusal.value_only else None)
        if key in self._dropped:
            return None
        self._dropped.add(key)
        return self._not_sent(name, sampling[name])

    def kept(self, sampling: Mapping[str, Any]) -> tuple[Mapping[str, Any], list[str]]:
        """Give the settings that are sent, and a note for each that is not."""
        if not self._dropped:
            return sampling, []
        refused = {
            name: value
            for name, value in sampling.items()
            if (name, None) in self._dropped or (name, repr(value)) in self._dropped
        }
        kept = {name: value for name, value in sampling.items() if name not in refused}
        return kept, [self._not_sent(name, value) for name, value in refused.items()]

    @staticmethod
    def _not_sent(name: str, value: Any) -> str:
        return f"{name}={value!r} is not sent: the model refuses it"


class Learned:
    """The facts of a process, by endpoint and model; the least used go where there are very many."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._facts: OrderedDict[Hashable, EndpointFacts] = OrderedDict()

    def about(self, key: Hashable) -> EndpointFacts:
        """Give the facts of one endpoint's model, to read and to add to."""
        with self._lock:
            facts = self._facts.get(key)
            if facts is None:
                facts = self._facts[key] = EndpointFacts()
                if len(self._facts) > _KEPT:
                    self._facts.popitem(last=False)
            else:
                self._facts.move_to_end(key)
            return facts


PROCESS_FACTS = Learned()
"""The one memory of this process: scorers that share an endpoint's model share what it refused."""
