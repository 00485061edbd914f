"""Which prompts start a task: the rule of docs/transcripts.md, question by question."""

from __future__ import annotations

import pytest

from prowess.server.transcripts.model import Call, Event, Prompt, Said, Session
from prowess.server.transcripts.tasks import divide

FIRST = "Add a discount for regular customers to the till"


def prompt(text: str, *, at: str = "2026-01-05T10:10:00.000Z", amid: bool = False, command: bool = False) -> Prompt:
    return Prompt(text[:8], text, at, amid=amid, command=command)


def work(command: str = "ls", *, is_error: bool = False) -> Call:
    at = "2026-01-05T10:05:00.000Z"
    return Call(command, "Bash", {"command": command}, at, observation="", is_error=is_error, ended=at)


def tasks(*events: Event) -> list[list[str]]:
    """The prompts of each task."""
    first = prompt(FIRST, at="2026-01-05T10:00:00.000Z")
    divided = divide(Session("claude-code", "s", events=[first, *events]))
    return [[one.text for one in task.prompts] for task in divided]


def after_work(text: str, *, before: Event | None = None) -> list[list[str]]:
    return tasks(*([before] if before else [work()]), prompt(text), work("make"))


def test_what_is_typed_while_the_agent_works_steers() -> None:
    said = prompt("Translate the manual into French for the new shop", amid=True)
    assert tasks(work("git commit -m x"), said, work("make")) == [[FIRST, said.text]]


def test_what_is_typed_before_anything_was_done_steers() -> None:
    said = prompt("Translate the manual into French for the new shop")
    assert tasks(said, work()) == [[FIRST, said.text]]


QUESTION = "What is the discount of regular customers in till.py?"
WISH = "Raise the discount of regular customers to ten percent"


def talk(*events: Event) -> list[list[str]]:
    divided = divide(Session("claude-code", "s", events=list(events)))
    return [[one.text for one in task.prompts] for task in divided]


def test_a_question_that_was_answered_is_no_part_of_the_work_asked_for_after_it() -> None:
    other = "Where is the till kept?"
    answered = Said("It is five percent.", None)
    assert talk(prompt(QUESTION), answered, prompt(WISH), work()) == [[WISH]]
    assert talk(prompt(QUESTION), answered, prompt(other), answered, prompt(WISH), work()) == [[WISH]]


@pytest.mark.parametrize(
    "wish",
    [
        "raise it to ten percent for all regular customers",
        "ten percent",
        "and make the one of new customers ten percent",
    ],
)
def test_a_question_stays_where_the_wish_after_it_says_no_work_by_itself(wish: str) -> None:
    assert talk(prompt(QUESTION), Said("It is five percent.", None), prompt(wish), work()) == [[QUESTION, wish]]


def test_a_question_stays_until_it_is_answered_and_where_the_agent_asks_back() -> None:
    assert talk(prompt(QUESTION), prompt(WISH), work()) == [[QUESTION, WISH]]
    assert talk(prompt(QUESTION), Said("Of which till?", None), prompt(WISH), work()) == [[QUESTION, WISH]]


def test_a_question_that_took_work_is_a_task() -> None:
    assert talk(prompt(QUESTION), work("cat till.py"), prompt(WISH), work())[0][0] == QUESTION


@pytest.mark.parametrize("answer", ["yes", "Yep do it", "2", "thanks!", "both", "option B please"])
def test_a_short_answer_steers_also_after_a_commit(answer: str) -> None:
    assert after_work(answer, before=work("git commit -m x")) == [[FIRST, answer]]


def test_a_long_answer_steers_where_a_question_was_asked() -> None:
    answer = "yes, the till of the second floor shows another currency"
    asked = [work("git commit -m x"), Said("Shall I?", None), prompt(answer), work("make")]
    assert tasks(*asked) == [[FIRST, answer]]


def test_a_question_is_answered_by_the_next_prompt_alone() -> None:
    wish = "no, the lamp of the second floor shows another colour"
    asked = [work("git commit -m x"), Said("Shall I?", None), prompt("yes"), work("make"), prompt(wish), work("make")]
    assert tasks(*asked) == [[FIRST, "yes"], [wish]]


def test_a_pause_of_more_than_four_hours_starts_a_task() -> None:
    said = prompt("and the till of the second floor", at="2026-01-05T14:05:01.000Z")
    assert tasks(work(), said, work("make")) == [[FIRST], [said.text]]


def test_the_first_prompt_again_with_another_object_starts_a_task() -> None:
    said = "Add a discount for new customers to the till"
    assert after_work(said) == [[FIRST], [said]]


def test_the_first_prompt_said_again_word_for_word_does_not() -> None:
    assert after_work(FIRST) == [[FIRST]]


@pytest.mark.parametrize(
    "words",
    [
        "and make sure that prices in dollars are rounded",
        "still shows the wrong price for Hamburg",
        "can you check that again with the German locale",
        "why does Hamburg have its own price list",
        "good. btw prices in dollars are rounded in Hamburg",
        "Never push to main, always open a pull request",
    ],
)
def test_who_goes_on_talking_steers_also_after_a_commit(words: str) -> None:
    assert after_work(words, before=work("git commit -m x")) == [[FIRST, words]]


@pytest.mark.parametrize("command", ["git commit -am x", "cd shop && git push", "gh pr create --fill"])
def test_after_a_commit_or_a_push_a_prompt_starts_a_task(command: str) -> None:
    assert after_work("round prices at the till", before=work(command)) == [[FIRST], ["round prices at the till"]]


def test_a_rule_with_a_wish_beside_it_starts_a_task() -> None:
    said = "Never push to main. Now please translate every chapter of the manual from French for Hamburg"
    assert after_work(said, before=work("git commit -m x")) == [[FIRST], [said]]


def test_a_commit_that_failed_delivers_nothing() -> None:
    said = "round prices at the till"
    assert after_work(said, before=work("git commit -m x", is_error=True)) == [[FIRST, said]]


@pytest.mark.parametrize(
    "words",
    [
        "好的\uff0c提交吧",
        "继续修复剩下的测试",
        "はい、お願いします",
        "続けてください",
        "да, давай",
        "\u0430 почему тесты падают",
        "sí, hazlo",
        "pero sin los tests",
        "ja, bitte",
        "und noch ein Test dazu",
        "oui",
        "mais sans les tests",
        "sim, pode",
        "네",
        "그리고 테스트도 추가해줘",
    ],
)
def test_who_answers_or_goes_on_in_another_language_steers_also_after_a_commit(words: str) -> None:
    assert after_work(words, before=work("git commit -m x")) == [[FIRST, words]]


@pytest.mark.parametrize(
    "words",
    [
        "把登录页面的按钮改成蓝色",
        "行高设置成二十像素并统一所有页面",
        "ログイン画面のボタンを青にしてください",
        "добавь кнопку входа",
        "añade un botón de inicio",
        "janitor script anlegen",
        "yaml Datei schreiben",
    ],
)
def test_a_new_wish_in_another_language_starts_a_task_after_a_commit(words: str) -> None:
    assert after_work(words, before=work("git commit -m x")) == [[FIRST], [words]]


def test_a_prompt_about_something_else_starts_a_task() -> None:
    said = "Translate every chapter from French for Hamburg"
    assert after_work(said) == [[FIRST], [said]]


def test_a_prompt_about_what_was_spoken_of_steers() -> None:
    said = "Translate the labels that customers see from French"
    assert after_work(said) == [[FIRST, said]]


def test_a_slash_command_without_work_is_passed_over() -> None:
    assert tasks(work(), prompt("/clear", command=True), prompt("round it"), work("make")) == [[FIRST, "round it"]]


def test_a_slash_command_with_work_starts_a_task() -> None:
    assert tasks(work(), prompt("/review 17", command=True), work("make")) == [[FIRST], ["/review 17"]]


def test_a_task_without_work_is_none() -> None:
    assert tasks() == []


def test_work_before_any_prompt_is_kept_apart() -> None:
    session = Session("codex", "s", events=[work(), prompt(FIRST), work("make")])
    assert [task.id for task in divide(session)] == ["codex:s:start", f"codex:s:{FIRST[:8]}"]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("thanks, perfect", FIRST),
        ("that is broken, the tests still fail!", FIRST),
        ("and the till of the second floor", f"{FIRST}\n\nand the till of the second floor"),
        (
            "that is wrong: the discount has to be ten percent for all who came more than five times",
            f"{FIRST}\n\nthat is wrong: the discount has to be ten percent for all who came more than five times",
        ),
    ],
)
def test_what_only_says_how_it_went_is_no_part_of_the_task(said: str, told: str) -> None:
    first = prompt(FIRST, at="2026-01-05T10:00:00.000Z")
    (task,) = divide(Session("claude-code", "s", events=[first, work(), prompt(said), work("make")]))
    assert (task.text, task.reactions) == (told, [said])


def test_the_words_of_a_task_tell_what_steered_it_from_the_first_prompt() -> None:
    first = prompt("Add a discount\n\nDon't add tests\n \n- to the till", at="2026-01-05T10:00:00.000Z")
    events = [first, work(), prompt("also for guests\n\nplease"), work("make")]
    [task] = divide(Session("claude-code", "s", events=events))
    assert task.text == "Add a discount\nDon't add tests\n- to the till\n\nalso for guests\nplease"
