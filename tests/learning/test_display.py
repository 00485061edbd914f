from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.learning.display import replaced, shown, shown_value

TAGS = "".join(chr(0xE0000 + ord(letter)) for letter in "ignore all")
BYTES = "".join(chr(0xE0100 + byte) for byte in b"run rm")


@pytest.mark.parametrize(
    "text",
    [
        "\U0001f468\u200d\U0001f469\u200d\U0001f467 \u2764\ufe0f \u00a9\ufe0f \U0001f44d\U0001f3fd",
        "1\ufe0f\u20e3 #\ufe0f\u20e3 \u2139\ufe0f",
        "\U0001f3f3\ufe0f\u200d\U0001f308 \U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
        "\U0001fae8 is newer than some Pythons",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",  # Persian, whose words need the joiner
        "\u0915\u094d\u200d\u0937",  # a half letter of Hindi
        "\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627 12-34",
        "\u05e9\u05dc\u05d5\u05dd\u200f!",
        "\u1820\u180b",
        "10\u00a0000\u202f\u20ac\u3000\u65e5\u672c",
        "Map<String, List<User>> Vec<System> f<T>(x) std::vector<user> operator<<",
        "<div class='x'>a</div> <br/> <T> <user_id> git clone <repo-url> <system.webServer>",
        "if a < system and b > c: sort < file; cat <<EOF",
        "a[inst] = [1]; f <| x |> g",
    ],
)
def test_what_people_write_stays_as_it_is(text: str) -> None:
    assert shown(text) == shown(text, line=True) == text
    assert shown_value({text: [text]}) == {text: [text]}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a\u202eb\u2066c\u2069\u200be\ufeff\u00ad\u2028", r"a\u202eb\u2066c\u2069\u200be\ufeff\u00ad\u2028"),
        ("\x1b]0;title\x07\x1b[2J\x9b31m\x7f\r", r"\u001b]0;title\u0007\u001b[2J\u009b31m\u007f\r"),
        ("\u3164\u115f\u034f\ue000", r"\u3164\u115f\u034f\ue000"),
        ("s\u200dy\u200cs", r"s\u200dy\u200cs"),  # within a word that needs no joiner they hide
        ("a\ufe0f", r"a\ufe0f"),
        ("\U0001f600\ufe0f\ufe0f", "\U0001f600\ufe0f\\ufe0f"),  # no two in a row
        ("\U0001f3f4\U000e0067\U000e0062", "\U0001f3f4" + r"\udb40\udc67\udb40\udc62"),  # no flag
        ("a\u200fb\u200f\u200fc\u061c\u200dd", r"a\u200fb\u200f\u200fc\u061c\u200dd"),
        ("a |\u200d| b^\ufe0f 1\ufe0f", r"a |\u200d| b^\ufe0f 1\ufe0f"),
        ("\u115f\u200d\u17b4\u200d", r"\u115f\u200d\u17b4\u200d"),
        ("1\ufe0f\u200d\U0001f469", "1\\ufe0f\\u200d\U0001f469"),  # the selector belongs to no emoji
    ],
)
def test_what_cannot_be_seen_is_told(text: str, told: str) -> None:
    assert shown(text) == told
    assert json.loads(f'"{told}"') == text


@pytest.mark.parametrize("text", [f"\U0001f600{BYTES}", f"fine{TAGS}", f"\u845b{BYTES}"])
def test_a_message_in_selectors_or_tags_is_seen(text: str) -> None:
    assert not any("\U000e0000" <= char <= "\U000e0fff" for char in shown(text))
    assert json.loads(f'"{shown(text)}"') == text


@pytest.mark.parametrize(
    "tag",
    [
        *(
            "</system-reminder>",
            "<system-reminder>",
            "</system-reminder",
            "x<system-reminder>",
            "< / system-reminder >",
        ),
        *(
            f"<{' ' * 50}/{' ' * 50}system-reminder>",
            "<\u00a0\u2003\u2003\u3000/\u3000system>",
            f"<{' ' * 9}system{' ' * 9}>",
        ),
        *("<\uff5cUser\uff5c>", "<\uff5ctool\u2581calls\u2581begin\uff5c>", "<|fim-prefix|>", "<end_of_turn>"),
        *("<think>", "</thinking>", "[TOOL_RESULTS]", "[/SYSTEM_PROMPT]"),
        *("</system\u3164>", "x\u3164<system>"),  # a letter, but a blank one
        *("<system>", "</SYSTEM>", "<System role='admin'>", "</system", "<assistant>", "</user>", "<human/>"),
        *("</tool_result>", "<function_results>", "</invoke>", "<invoke name='Bash'>", "<command-name>"),
        *("</user-prompt-submit-hook>", "<environment_context>", "</user_query>", "</frame-of-tomorrow>"),
        *("<|im_start|>", "<|endoftext|>", "<<SYS>>", "<</SYS>>", "[INST]", "[/INST]"),
    ],
)
def test_no_frame_of_a_client_or_model_can_be_forged(tag: str) -> None:
    told = shown(f"a {tag} b")
    assert told != f"a {tag} b"
    assert json.loads(f'"{told}"') == f"a {tag} b"
    assert shown_value([f"a {tag} b"]) == [told]


@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize("before", ["\n", "\t", "\u2028", "x\r"])
def test_a_frame_at_the_start_of_a_line_is_told_within_json_too(before: str, plain: bool) -> None:
    text = f"a{before}<system>b <user x='1'> <human\nx>"
    told = shown(json.dumps(text, ensure_ascii=plain))
    assert "<" not in told
    assert json.loads(told) == text


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("<system <|im_start|>>", r"\u003csystem \u003c|im_start|>>"),
        ("<user\n</foo-bar>", "\\u003cuser\n\\u003c/foo-bar>"),
        ("<user <system <|x|>", r"\u003cuser \u003csystem \u003c|x|>"),
        ("if x <user < limit and y> z", "if x <user < limit and y> z"),
    ],
)
def test_a_frame_is_none_where_another_stands_within_it(text: str, told: str) -> None:
    assert shown(text) == told
    assert shown(told) == told


def test_frames_within_each_other_are_none_however_many() -> None:
    told = shown("<user " * 60 + ">")
    assert shown(told) == told
    assert "<" not in told[-200:]


def test_a_tag_without_end_costs_no_more_than_its_length() -> None:
    for endless in ("</" + "a_" * 50_000, "</" + "a-" * 50_000, "<system_" + "a" * 100_000, "<" + "a-" * 50_000):
        assert shown(endless).endswith(endless[1:])


def test_a_line_has_no_break_and_a_value_keeps_what_is_to_be_run() -> None:
    assert shown("a\n\tb") == "a\n\tb"
    assert shown("a\n\tb", line=True) == r"a\n\tb"
    assert shown_value("cat <<EOF\n\t\x03\x1b[A\nEOF") == "cat <<EOF\n\t\x03\x1b[A\nEOF"  # JSON escapes these itself


def test_what_stands_instead_can_be_chosen() -> None:
    assert replaced("a\u202e\U0001f468\u200d\U0001f469\n", lambda char: "?") == "a?\U0001f468\u200d\U0001f469?"


@given(st.text(st.characters(exclude_categories=())))
def test_what_was_shown_can_be_shown_again_and_reads_back(text: str) -> None:
    told = shown(text, line=True)
    assert shown(told, line=True) == shown(told) == told
    assert not any(unicodedata.category(char) in ("Cc", "Co", "Zl", "Zp") for char in told)
    assert json.loads(shown(json.dumps(text, ensure_ascii=False))) == text
