"""The policy that a setting names."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from tracescore.errors import ConfigurationError
from tracescore.redaction.policy import Redaction
from tracescore.settings import PREFIX


def load_redaction(setting: str) -> Redaction:
    """Give the policy: ``"default"``, ``"off"`` for one that lets everything pass, or that at ``"module:attribute"``.

    Raises:
        ConfigurationError: it is none of them, or there is no policy there.
    """
    if setting == "default":
        return Redaction()
    if setting == "off":
        return Redaction(defaults=False)
    module_name, _, attribute = setting.partition(":")
    if not (module_name and attribute):
        raise ConfigurationError(f"redaction {setting!r}: expected 'default', 'off' or 'module:attribute'")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found = getattr(importlib.import_module(module_name), attribute, None)
    except Exception as error:  # a user's module may raise anything as it is imported
        raise ConfigurationError(
            f"redaction {setting!r}: importing {module_name} failed: {type(error).__name__}: {error}"
        ) from error
    if not isinstance(found, Redaction):
        raise ConfigurationError(f"redaction {setting!r}: {attribute} is a {type(found).__name__}, not a Redaction")
    return found


def policy_of(environ: Mapping[str, str]) -> Redaction:
    """Give the policy that an environment names; one that was loaded stays as it is for the life of the process.

    Raises:
        ConfigurationError: as ``load_redaction``.
    """
    return _loaded(environ.get(f"{PREFIX}REDACTION") or "default")


_loaded = cache(load_redaction)
