"""What ``doctor`` says of tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tracescore.cli.check import Check
from tracescore.store import TokenRow


def check_tokens(tokens: Sequence[TokenRow], *, project: str) -> Check:
    """Check that whoever is to send and to read in a project can."""
    if not tokens:
        return Check(
            name="tokens",
            state="ok",
            message="none: servers listen on loopback only and ask for none, or run --insecure",
        )
    valid = [token for token in tokens if token.revoked_ns is None]
    counts = Counter((token.project, token.kind) for token in valid)
    said = ", ".join(f"{count} {kind} of {name}" for (name, kind), count in sorted(counts.items())) or "none is valid"
    revoked = f" ({len(tokens) - len(valid)} revoked)" if len(valid) < len(tokens) else ""
    missing = [kind for kind in ("ingest", "read") if not counts[project, kind]]
    if not missing:
        return Check(name="tokens", state="ok", message=said + revoked)
    does = {"ingest": "send spans", "read": "read scores over HTTP"}
    return Check(
        name="tokens",
        state="warn",
        message=f"{said}{revoked}; nobody can {' or '.join(does[kind] for kind in missing)} in project {project}",
        todo="; ".join(f"`tracescore tokens create --kind {kind} --project {project}`" for kind in missing),
    )
