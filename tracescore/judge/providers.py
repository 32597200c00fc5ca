"""Model names: ``provider/model`` becomes an endpoint, its key and its way to name things."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches

from tracescore.errors import ConfigurationError
from tracescore.judge.options import UNSET, Judge

_NAMES: Mapping[str, str] = {"max_output_tokens": "max_tokens"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Provider:
    """Where a provider's OpenAI-compatible endpoint is and which environment variables hold its key."""

    base_url: str
    key_variables: tuple[str, ...]
    names: Mapping[str, str] = field(default_factory=lambda: _NAMES)
    """What the endpoint calls our settings, where it calls them otherwise."""
    needs_key: bool = True


PROVIDERS: Mapping[str, Provider] = {
    "anthropic": Provider(base_url="https://api.anthropic.com/v1/", key_variables=("ANTHROPIC_API_KEY",)),
    "cerebras": Provider(base_url="https://api.cerebras.ai/v1", key_variables=("CEREBRAS_API_KEY",)),
    "deepseek": Provider(base_url="https://api.deepseek.com", key_variables=("DEEPSEEK_API_KEY",)),
    "fireworks": Provider(base_url="https://api.fireworks.ai/inference/v1", key_variables=("FIREWORKS_API_KEY",)),
    "google": Provider(
        base_url="https://generativelanguage.googleapis.com/v1beta/openai/",
        key_variables=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    ),
    "groq": Provider(base_url="https://api.groq.com/openai/v1", key_variables=("GROQ_API_KEY",)),
    "mistral": Provider(
        base_url="https://api.mistral.ai/v1",
        key_variables=("MISTRAL_API_KEY",),
        names={**_NAMES, "seed": "random_seed"},
    ),
    "ollama": Provider(base_url="http://localhost:11434/v1", key_variables=("OLLAMA_API_KEY",), needs_key=False),
    "openai": Provider(
        base_url="https://api.openai.com/v1",
        key_variables=("OPENAI_API_KEY",),
        names={"max_output_tokens": "max_completion_tokens"},
    ),
    "openrouter": Provider(base_url="https://openrouter.ai/api/v1", key_variables=("OPENROUTER_API_KEY",)),
    "together": Provider(base_url="https://api.together.xyz/v1", key_variables=("TOGETHER_API_KEY",)),
    "xai": Provider(base_url="https://api.x.ai/v1", key_variables=("XAI_API_KEY",)),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Endpoint:
    """Where a model name leads."""

    model: str
    base_url: str | None
    """None where a client of the user's own says it."""
    key_variables: tuple[str, ...]
    names: Mapping[str, str]
    needs_key: bool


def endpoint_of(judge: Judge, environ: Mapping[str, str]) -> Endpoint:
    """Find the endpoint of a judge's model name.

    What stands before the first slash is the provider where it is a known one. With ``base_url`` or ``client`` any
    other name is the model as it stands. ``<PROVIDER>_BASE_URL`` in the environment replaces the provider's own.

    Raises:
        ConfigurationError: a name without a provider, or with an unknown one, and nothing else that says where.
    """
    name = judge.model_name
    base_url = None if judge.base_url is UNSET else judge.base_url
    own_client = judge.client is not UNSET and judge.client is not None
    prefix, slash, model = name.partition("/")
    provider = PROVIDERS.get(prefix) if slash else None
    if provider is not None and model:
        from_environment = environ.get(f"{prefix.upper()}_BASE_URL") or None
        elsewhere = base_url or from_environment
        return Endpoint(
            model=model,
            base_url=elsewhere or (None if own_client else provider.base_url),
            key_variables=provider.key_variables,
            names=provider.names,
            needs_key=provider.needs_key and elsewhere is None,
        )
    if base_url is None and not own_client:
        nearest = get_close_matches(prefix, PROVIDERS, n=1)
        hint = f"; did you mean {nearest[0] + '/' + model!r}?" if slash and nearest else "."
        raise ConfigurationError(
            f"judge model {name!r} names no known provider{hint} Write 'provider/model' with one of "
            f"{', '.join(PROVIDERS)}, or give base_url= or client="
        )
    return Endpoint(model=name, base_url=base_url, key_variables=(), names=_NAMES, needs_key=False)
