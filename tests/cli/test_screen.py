"""What judged text may do to a terminal: nothing."""

from __future__ import annotations

import pytest

from tracescore.cli.screen import console, one_line, printable


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain text, umläute, 漢字, 👩‍🔬 and\ttabs\nstay", "plain text, umläute, 漢字, 👩‍🔬 and\ttabs\nstay"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[2J\x1b[1;1Hscreen wiped", "screen wiped"),
        ("\x1b]0;new title\x07after", "after"),
        ("\x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x9b31mred by one byte\x9b0m", "red by one byte"),
        ("\x9d0;title\x9cafter", "after"),
        ("\x1bcreset", "reset"),
        ("\x1b(0charset", "charset"),
        ("bell\x07 back\x08space null\x00 delete\x7f", "bell backspace null delete"),
        ("over\rwritten\r\nlines\u2028end", "over\nwritten\nlines\nend"),
        ("admin\u202etxt.exe \u2066x\u2069", "admintxt.exe x"),
        ("lone \ud800 surrogate", "lone ? surrogate"),
        ("ends in escape\x1b", "ends in escape"),
        ("\x1b[\x1b[31mnested", "nested"),
        ("\x1b\x1b[31mtwice", "twice"),
    ],
)
def test_what_a_terminal_would_obey_is_taken_out(text: str, expected: str) -> None:
    assert printable(text) == expected


def test_nothing_that_is_left_is_a_control_character() -> None:
    every = "".join(map(chr, range(0x300)))

    assert [c for c in printable(every) if (ord(c) < 32 and c not in "\n\t") or 0x7F <= ord(c) < 0xA0] == []


def test_one_line_joins_and_cuts() -> None:
    assert one_line(" a\n\tb \x1b[1mc ") == "a b c"
    assert one_line("0123456789", limit=5) == "0123…"
    assert one_line("01234", limit=5) == "01234"


def test_a_console_interprets_no_markup(capsys: pytest.CaptureFixture[str]) -> None:
    console().print("[bold red]not markup[/] :warning: [link=http://x]")

    assert capsys.readouterr().out == "[bold red]not markup[/] :warning: [link=http://x]\n"
