"""What planning decided about runs, counted by the hour."""

from __future__ import annotations

from tracescore.store.bulk import query
from tracescore.store.database import Database
from tracescore.store.encoding import storable
from tracescore.store.records import Decided

HOUR_NS = 3_600_000_000_000
_SINCE = """SELECT scorer_id, outcome, count, example FROM decision_counts WHERE project = ? AND hour >= ?
    ORDER BY hour"""


class Decisions:
    """Read what was decided."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def since(self, project: str, since_ns: int) -> list[Decided]:
        """Add up the decisions of the hour of a time and of all later ones, by scorer and outcome."""
        values = (storable(project), since_ns // HOUR_NS)
        counts: dict[tuple[str, str], int] = {}
        examples: dict[tuple[str, str], str] = {}
        for scorer_id, outcome, count, example in await self._database.read(
            lambda connection: query(connection, _SINCE, *values)
        ):
            key = (scorer_id, outcome)
            counts[key] = counts.get(key, 0) + count
            if example is not None:
                examples[key] = example
        return [
            Decided(scorer_id=key[0], outcome=key[1], count=count, example=examples.get(key))
            for key, count in sorted(counts.items())
        ]
