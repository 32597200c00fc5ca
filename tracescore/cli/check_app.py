"""What ``doctor`` says of settings, app and judges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tracescore.cli.check import Check
from tracescore.cli.notices import no_rules
from tracescore.errors import TracescoreError
from tracescore.settings import PREFIX, Settings, unknown_variables

if TYPE_CHECKING:
    from tracescore.app import TraceScore
    from tracescore.judge import Judge
    from tracescore.redaction import Redaction


NO_APP = "no app given: --app module:attr or TRACESCORE_APP tells"


def check_settings(environ: Mapping[str, str]) -> Check:
    """Check that each variable which looks like a setting is one."""
    unknown = unknown_variables(environ)
    if unknown:
        return Check(name="settings", state="warn", message="; ".join(unknown), todo="correct or remove it")
    given = sorted(name for name in environ if name.startswith(PREFIX) and environ[name])
    return Check(name="settings", state="ok", message=", ".join(given) or f"no {PREFIX} variable is set")


def check_app(settings: Settings) -> tuple[TraceScore | None, Check]:
    """Check that the app can be loaded, and scores something."""
    from tracescore.app import load_app

    if not settings.app:
        return None, Check(
            name="app",
            state="warn",
            message="none given",
            todo="set TRACESCORE_APP=module:attr or give --app; `tracescore init` writes a scoring.py to start from",
        )
    try:
        app = load_app(settings.app)
    except TracescoreError as error:
        return None, Check(name="app", state="fail", message=str(error), todo="correct it, or TRACESCORE_APP")
    message = f"{settings.app}: scorers {', '.join(app.scorers) or 'none'}"
    if not app.rule_set.rules:
        said, _, todo = no_rules(app).partition("; ")
        return app, Check(name="app", state="warn", message=f"{message}; {said}", todo=todo)
    named = {rule.scorer_id for rule in app.rule_set.rules}
    left = [name for name in app.scorers if name not in named]
    without = f"; no rule names {', '.join(left)}, which score only what is asked for" if left else ""
    return app, Check(name="app", state="ok", message=f"{message}{without}")


def check_judges(app: TraceScore | None, environ: Mapping[str, str]) -> Check:
    """Check that there is a key for every judge of the app; which variable it is read from is told, never the key."""
    judged = {scorer.id: scorer.judges.values() for scorer in app.scorers.values() if scorer.needs_judge} if app else {}
    if not judged:
        message = "no scorer of the app asks one" if app else NO_APP
        return Check(name="judge", state="ok", message=message)
    said: dict[str, list[str]] = {}
    missing: list[str] = []
    for scorer_id, judges in judged.items():
        for judge in judges:
            name, lacks = _source_of_key(judge, environ)
            asked_by = said.setdefault(f"{judge.model_name} ({name})", [])
            if scorer_id not in asked_by:
                asked_by.append(scorer_id)
            missing += [lacks] if lacks and lacks not in missing else []
    message = "; ".join(f"{model} asked by {', '.join(scorers)}" for model, scorers in said.items())
    if missing:
        return Check(
            name="judge",
            state="warn",
            message=message,
            todo=f"set {', '.join(missing)} where workers run, or give Judge(api_key=...)",
        )
    return Check(name="judge", state="ok", message=message)


def check_retries(app: TraceScore | None) -> Check:
    """Say what is retried of the app's judge calls, and how often."""
    if app is None:
        return Check(name="retries", state="ok", message=NO_APP)
    said: dict[str, list[str]] = {}
    for scorer in app.scorers.values():
        for retries in dict.fromkeys(judge.retries for judge in scorer.judges.values()):
            said.setdefault(retries, []).append(scorer.id)
    message = "; ".join(f"{', '.join(scorers)}: {retries}" for retries, scorers in said.items())
    return Check(name="retries", state="ok", message=message or "no judge is asked")


def check_redaction(settings: Settings, app: TraceScore | None) -> Check:
    """Check that the policy of redaction can be loaded, and say what it keeps from whom."""
    from tracescore.redaction import load_redaction

    try:
        policy = load_redaction(settings.redaction)
    except TracescoreError as error:
        return Check(name="redaction", state="fail", message=str(error), todo=f"correct {PREFIX}REDACTION")
    message = f"{settings.redaction}: {_doors(policy)}"
    if app is None or app.redaction is None or app.redaction.version == policy.version:
        return Check(name="redaction", state="ok", message=message)
    return Check(
        name="redaction",
        state="warn",
        message=f"servers: {message}. Workers of the app: {_doors(app.redaction)}",
        todo=f"if servers should hold to the app's policy too, name it in {PREFIX}REDACTION=module:attribute",
    )


def _doors(policy: Redaction) -> str:
    kept = "; ".join(f"{door} without {', '.join(kinds)}" for door, kinds in policy.doors.items() if kinds)
    return f"{kept or 'everything passes'} (version {policy.version})"


def _source_of_key(judge: Judge, environ: Mapping[str, str]) -> tuple[str, str]:
    """Say where a judge's key comes from; and which variable is missing, where one is."""
    from tracescore.judge import endpoint_of

    given = judge.given()
    if not isinstance(given.get("model"), str):
        return "an object of the app's own", ""
    if given.get("client"):
        return "by a client of the app's own", ""
    endpoint = endpoint_of(judge, environ)
    at = f" at {endpoint.base_url}" if endpoint.base_url else ""
    if given.get("api_key"):
        return f"key given in the app{at}", ""
    for name in endpoint.key_variables:
        if environ.get(name):
            return f"key from {name}{at}", ""
    if not endpoint.needs_key:
        return f"no key needed{at}", ""
    return f"{' or '.join(endpoint.key_variables)} is not set{at}", endpoint.key_variables[0]
