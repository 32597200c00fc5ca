"""``tracescore migrate``: bring a store to this release's schema."""

from __future__ import annotations

from tracescore.cli.opening import shown
from tracescore.cli.options import AsJson, Store, settings


def migrate(data: Store = None, as_json: AsJson = False) -> None:
    """Bring the store to this release's schema: once per release, before servers and workers start on PostgreSQL."""
    from tracescore.cli.screen import note, print_json
    from tracescore.store import Store

    location = settings(store=data).store
    migrated = Store.migrate(location)
    if as_json:
        print_json({"store": shown(location), "migrated": migrated})
    else:
        note(f"{shown(location)}: {'migrated' if migrated else 'nothing to do, it is at this schema already'}.")
