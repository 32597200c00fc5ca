"""Jobs that wait for a version which no live worker offers: why, and which version takes them over when."""

from __future__ import annotations

from dataclasses import dataclass

from tracescore.pipeline.targets import LIVE_NS
from tracescore.store import OfferedVersion, Store


@dataclass(frozen=True, kw_only=True, slots=True)
class Stranded:
    """Jobs of one version that nobody offers."""

    scorer_id: str
    version: str
    jobs: int
    offered_instead: str | None
    """The version of the scorer that is offered, if any."""
    takes_over_ns: int | None
    """When that one takes them over, if it is offered until then and this one is not."""

    def reason(self, *, now_ns: int) -> str:
        """Say why they wait, and for how long."""
        if self.offered_instead is None or self.takes_over_ns is None:
            return f"no live worker offers scorer {self.scorer_id!r}"
        seconds = max(0, self.takes_over_ns - now_ns) / 1e9
        when = f"in {seconds / 60:.0f} min" if seconds > 90 else f"in {seconds:.0f} s" if seconds else "now"
        return (
            f"no live worker offers version {self.version} of {self.scorer_id!r}; "
            f"{self.offered_instead} is offered and takes them over {when}"
        )


async def stranded(store: Store, project: str, *, now_ns: int, supersede_ns: int) -> list[Stranded]:
    """Give what waits in a project for a version that no live worker offers, a backfill that is not planned too."""
    offered = [offer for offer in await store.offered.live(now_ns - LIVE_NS) if offer.project == project]
    live = {(offer.scorer_id, offer.scorer_version) for offer in offered}
    groups = await store.offered.waiting(project, now_ns=now_ns, offered=offered)
    missing = {(group.scorer_id, group.version): group.count for group in groups}
    for backfill in await store.backfills.planning(project):
        if (key := (backfill.scorer_id, backfill.scorer_version)) not in live:
            missing.setdefault(key, 0)
    versions = {(row.scorer_id, row.version): row for row in await store.offered.versions(project)} if missing else {}
    found: list[Stranded] = []
    for (scorer_id, version), count in sorted(missing.items()):
        others = [row for key, row in versions.items() if key in live and row.scorer_id == scorer_id]
        instead = newest(others)
        takes_over_ns = None
        if instead is not None:
            # Only another version for all that time: it was there throughout, and this one was not.
            last_seen_ns = versions[scorer_id, version].seen_ns if (scorer_id, version) in versions else 0
            takes_over_ns = max(instead.since_ns, last_seen_ns) + supersede_ns
        found.append(
            Stranded(
                scorer_id=scorer_id,
                version=version,
                jobs=count,
                offered_instead=None if instead is None else instead.version,
                takes_over_ns=takes_over_ns,
            )
        )
    return found


def newest(versions: list[OfferedVersion]) -> OfferedVersion | None:
    """Give the version that came last."""
    return max(versions, key=lambda row: (row.since_ns, row.version), default=None)
