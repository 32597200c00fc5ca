"""Who somebody is: e-mail addresses, phone numbers, card numbers."""

from __future__ import annotations

import re

from tracescore.redaction.rules import RedactionRule

_CARDS = re.compile(
    r"4\d{12}(?:\d{3}){0,2}|(?:5[1-5]|2[2-7]\d\d)\d*|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}|6(?:011|5\d\d|4[4-9]\d)\d{12}"
    r"|35(?:2[89]|[3-8]\d)\d{12}|62\d{14,17}"
)


def is_card(text: str) -> bool:
    """Tell whether digits, spaces and hyphens are a card number: a known issuer's, its check digit right (Luhn)."""
    digits = [int(letter) for letter in text if letter.isdigit()]
    if not 13 <= len(digits) <= 19 or not _CARDS.fullmatch("".join(map(str, digits))):
        return False
    if digits[0] in (2, 5) and len(digits) != 16:
        return False
    doubled = (digit if place % 2 == 0 else digit * 2 - 9 * (digit > 4) for place, digit in enumerate(reversed(digits)))
    return sum(doubled) % 10 == 0


def is_phone(text: str) -> bool:
    """Tell whether a text that looks like one has as many digits as a phone number (E.164)."""
    return 8 <= sum(map(str.isdigit, text)) <= 15


# The first character is looked at before what stands in front of it: a pattern that begins with a look behind is
# tried at each place of a text, one that begins with a character only where that stands.
_ALONE = r"(?<![\w.+/-].)"
_SEPARATED = r"[ .-]"

PERSONAL_RULES: tuple[RedactionRule, ...] = (
    RedactionRule(
        kind="email",
        # ASCII only: what follows an address may well be a letter of another script.
        pattern=r"(?<![A-Za-z0-9._%+'-])[A-Za-z0-9._%+'-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}",
        hint=r"[A-Za-z0-9._%+'-]@(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2}",
    ),
    RedactionRule(
        kind="card",
        pattern=rf"[2-6]{_ALONE}(?:[ -]?\d){{12,18}}(?![\w-]|\.\d)",
        hint=r"\b[2-6](?:[ -]?[0-9]){12}",
        check=is_card,
    ),
    RedactionRule(
        kind="phone",
        # +49 30 901820, (415) 555-2671, 415-555-2671, 010-1234-5678; never digits without any mark of a phone number.
        pattern=rf"[+(0-9]{_ALONE}(?:(?<=\+)[1-9]\d{{0,2}}(?:[ .()-]{{0,2}}\d){{7,13}}"
        rf"|(?<=\()[02-9]\d{{1,4}}\) ?\d{{3,4}}{_SEPARATED}\d{{4}}"
        rf"|(?<=[2-9])\d\d{_SEPARATED}[2-9]\d\d{_SEPARATED}\d{{4}}"
        rf"|(?<=1){_SEPARATED}\(?[2-9]\d\d\)?{_SEPARATED}[2-9]\d\d{_SEPARATED}\d{{4}}"
        rf"|(?<=0)\d(?:{_SEPARATED}\d\d){{4}}"
        rf"|(?<=0)\d{{1,4}}{_SEPARATED}\d{{3,4}}{_SEPARATED}\d{{3,4}})(?![\w-]|\.\d)",
        hint=r"\+[1-9](?:[ .()-]{0,2}[0-9]){7}|\([0-9]{2,5}\) ?[0-9]{3,4}[ .-][0-9]{4}"
        r"|[2-9][0-9]{2}\)?[ .-][2-9][0-9]{2}[ .-][0-9]{4}"
        r"|\b0[0-9]{1,4}[ .-][0-9]{3,4}[ .-][0-9]{3,4}|\b0[0-9](?:[ .-][0-9]{2}){4}",
        check=is_phone,
    ),
)
