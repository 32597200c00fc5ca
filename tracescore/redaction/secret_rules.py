"""What opens something: keys, tokens, passwords. By clear marks only, since a secret has no grammar of its own."""

from __future__ import annotations

import re
from collections.abc import Callable

from tracescore.redaction.rules import DOORS, RedactionRule, is_placeholder

# Where a key may begin: behind no letter or digit, or behind an escape of JSON that stands inside a JSON text.
_BEGIN = r"(?:(?<![A-Za-z0-9])|(?<=\\[bfnrt])|(?<=\\u[0-9a-fA-F]{4}))"

_KEYS = (
    r"sk-[A-Za-z0-9_-]{20,256}",  # OpenAI, Anthropic, OpenRouter, Langfuse and more
    r"AKIA[A-Z0-9]{16}",
    r"ASIA[A-Z0-9]{16}",
    r"AIza[A-Za-z0-9_-]{35}",
    r"GOCSPX-[A-Za-z0-9_-]{20,64}",
    r"ya29\.[A-Za-z0-9_-]{20,1024}",
    r"ghp_[A-Za-z0-9]{36,255}",
    r"gho_[A-Za-z0-9]{36,255}",
    r"ghs_[A-Za-z0-9]{36,255}",
    r"github_pat_[A-Za-z0-9_]{22,255}",
    r"glpat-[A-Za-z0-9_-]{20,64}",
    r"xox[abeprs]-[A-Za-z0-9-]{10,255}",
    r"hooks\.slack\.com/services/[A-Za-z0-9/_-]{20,100}",
    r"k_live_[A-Za-z0-9]{16,255}",  # Stripe's sk_ and rk_
    r"hf_[A-Za-z0-9]{30,64}",
    r"gsk_[A-Za-z0-9]{40,64}",
    r"xai-[A-Za-z0-9]{60,100}",
    r"npm_[A-Za-z0-9]{36}",
    r"pypi-[A-Za-z0-9_-]{50,512}",
    r"SG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,64}",
    r"AccountKey=[A-Za-z0-9+/=]{40,128}",
    r"SharedAccessKey=[A-Za-z0-9+/=]{40,128}",
)
_INSIDE = ("k_live_", "AccountKey", "SharedAccessKey", "hooks")
"""Beginnings of those that may well stand behind a letter."""

_PASSWORDS = r"password|passwd|passphrase|pwd"
_SECRETS = (
    r"api[_-]?key|client[_-]?secret|secret[_-]?access[_-]?key|secret[_-]?key|app[_-]?secret|signing[_-]?secret|"
    r"access[_-]?key|private[_-]?key|secret"
)
_TOKENS = (
    r"access[_-]?token|refresh[_-]?token|auth[_-]?token|id[_-]?token|session[_-]?token|bearer[_-]?token|"
    r"security[_-]?token|authorization|cookie"
)


def _looks_secret(value: str) -> bool:
    # What is assigned without quotes is a secret only if it looks like one: not a path, and with a digit in it.
    return not is_placeholder(value) and value[0] not in "/~." and any(map(str.isdigit, value))


def _stands_alone(value: str) -> bool:
    return not is_placeholder(value)


def _named(kind: str, names: str) -> tuple[RedactionRule, RedactionRule]:
    """Give the rules for what stands behind a name: quoted, as in JSON, or assigned, as in a shell."""
    quoted = rf"(?:{names})\\{{0,8}}[\"']\s{{0,4}}[:=]\s{{0,4}}\[?\\{{0,8}}[\"']"
    assigned = rf"(?:{names})\s?[:=]\s?"
    bare = r"[^\s\"'\\,;&<>(){}\[\]]"
    return (
        _secret(
            kind,
            pattern=rf"{quoted}(?P<value>[^\"'\\]{{4,4096}})",
            hint=rf"{quoted}[^\"'\\]{{4}}",
            ignore_case=True,
            check=_stands_alone,
            names=rf"(?:{names})$",
        ),
        _secret(
            kind,
            pattern=rf"{assigned}(?P<value>{bare}{{6,4096}})",
            hint=rf"{assigned}{bare}{{6}}",
            ignore_case=True,
            check=_looks_secret,
        ),
    )


def _secret(
    kind: str,
    *,
    pattern: str,
    hint: str,
    ignore_case: bool = False,
    check: Callable[[str], bool] | None = None,
    names: str | None = None,
) -> RedactionRule:
    return RedactionRule(
        kind=kind,
        pattern=pattern,
        hint=hint,
        ignore_case=ignore_case,
        check=check,
        names=names,
        doors=DOORS,
        in_json=True,
    )


SECRET_RULES: tuple[RedactionRule, ...] = (
    _secret(
        "private_key",
        # To the end of the block, or as far as the text goes on without a quote: a key that was cut off is still one.
        pattern=r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:(?!-----)(?:\\[^\"]|[^\"\\])){0,16384}"
        r"(?:-----END [A-Z0-9 ]{0,40}-----)?",
        hint=r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY",
    ),
    _secret(
        "api_key",
        pattern="|".join(key if key.startswith(_INSIDE) else _BEGIN + key for key in _KEYS),
        hint="|".join(re.sub(r"\{(\d+),\d+\}", r"{\1,}", key) for key in _KEYS),
    ),
    _secret(
        "token",
        pattern=_BEGIN + r"eyJ[A-Za-z0-9_-]{8,512}+\.eyJ[A-Za-z0-9_-]{8,8192}+\.[A-Za-z0-9_-]{0,8192}",
        hint=r"eyJ[A-Za-z0-9_-]+\.eyJ[A-Za-z0-9_-]+\.",
    ),
    _secret(
        "token",
        pattern=r"bearer\s{1,4}(?P<value>[A-Za-z0-9._~+/=-]{16,8192})",
        hint=r"bearer\s{1,4}[A-Za-z0-9._~+/=-]{16}",
        ignore_case=True,
        check=_looks_secret,
    ),
    _secret(
        "password",
        # scheme://user:password@host; a password may hold an @ itself.
        pattern=r"://[^\s:/@\"'\\]{0,128}:(?P<value>[^\s/\"'\\]{1,256})@",
        hint=r"://[^\s:/@\"'\\]*:[^\s/\"'\\]+@",
        check=_stands_alone,
    ),
    *_named("password", _PASSWORDS),
    *_named("api_key", _SECRETS),
    *_named("token", _TOKENS),
)
