"""Fuzz one target for a while: ``python -m tests.fuzz traces|values|growth|otlp|decoder|receiver [seconds]``.

``traces``, ``values`` and ``growth`` are drawn by hypothesis. ``otlp`` and ``decoder`` take bytes: atheris looks for
bytes that reach new code; where it is not installed, the recorded files are mutated blindly, which finds less, and it
is said so. ``receiver`` fires at a server in a process of its own.
"""

from __future__ import annotations

import sys
import zlib
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

_WORK = Path(__file__).parent.parent.parent / ".fuzz"
_OF_BYTES = ("otlp", "decoder")
_TARGETS = ("traces", "values", "growth", *_OF_BYTES, "receiver")
_RSS_MB = 2048
_MAX_LEN = 16_000


def main(target: str = "", seconds: str = "600") -> int:
    """Run one target; 0 where nothing broke."""
    if target not in _TARGETS:
        print(f"name what to fuzz: {', '.join(_TARGETS)}", file=sys.stderr)
        return 2
    if target in _OF_BYTES and find_spec("atheris") is not None:
        return _fuzz(target, int(seconds))
    if target == "receiver":
        from tests.fuzz.firing import fire_for

        print(f"receiver: {fire_for(float(seconds))}")
        return 0
    from tests.fuzz.searching import mutate_for, search

    if target not in _OF_BYTES:
        how, tried = "drawn by hypothesis", search(target, float(seconds))
    else:
        how, tried = "mutated blindly: atheris is not installed", mutate_for(target, float(seconds))
    print(f"{target}: {tried} inputs in {seconds} s, {how}; none broke a check")
    return 0


def _fuzz(target: str, seconds: int) -> int:
    # By name: of the extra `fuzz` alone, so that types are checked the same without it.
    atheris = import_module("atheris")

    # Code must be imported under its eyes for atheris to see which of it an input reaches.
    with atheris.instrument_imports(include=["tracescore"]):
        from tests.fuzz.checks import BYTE_CHECKS
    import random

    from tests.fuzz.keeping import CRASHES
    from tests.fuzz.mutations import mutate
    from tests.fuzz.searching import SLOW_S
    from tests.fuzz.seeds import seeds
    from tests.fuzz.words import attribute_names, message_words

    begun = seeds(target)
    kept = CRASHES / target
    kept.mkdir(parents=True, exist_ok=True)

    def mutated(data: bytes, max_size: int, number: int) -> bytes:
        if number % 2:
            return atheris.Mutate(data, max_size)
        return mutate(data, begun, random.Random(number))[:max_size]

    # Kept from run to run: what reached new code once is where the next run begins.
    corpus, words = _WORK / target, _WORK / f"{target}.words"
    corpus.mkdir(parents=True, exist_ok=True)
    for data in begun:
        (corpus / f"{zlib.crc32(data):08x}").write_bytes(data)
    known = {*message_words(), *(name for names in attribute_names().values() for name in names)}
    words.write_text("".join(f'"{word}"\n' for word in sorted(known)))
    asked = [f"-max_total_time={seconds}", f"-timeout={SLOW_S}", f"-rss_limit_mb={_RSS_MB}"]
    asked += [f"-max_len={_MAX_LEN}", f"-artifact_prefix={kept}/", f"-dict={words}", "-print_final_stats=1"]
    atheris.Setup([sys.argv[0], *asked, str(corpus)], BYTE_CHECKS[target], custom_mutator=mutated)
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
