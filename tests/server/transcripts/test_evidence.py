"""What tests, commits and the user's words in a transcript are worth."""

from __future__ import annotations

from typing import Any

import pytest

from prowess.server.transcripts.evidence import command_of, evidence_of, judges, news
from prowess.server.transcripts.model import Call, Task


def ran(command: str, answer: str, *, is_error: bool = False, code: int | None = None) -> Call:
    return Call("c", "Bash", {"command": command}, None, observation=answer, is_error=is_error, exit_code=code)


def evidence(*calls: Call, said: tuple[str, ...] = ()) -> dict[str, Any]:
    return evidence_of(Task("t", calls=list(calls), reactions=list(said)))


def test_nothing_known_is_nothing_told() -> None:
    assert evidence(ran("ls", "shop.py"), said=("Translate the manual",)) == {}


def test_the_last_test_run_counts() -> None:
    first, last = ran("pytest", "1 failed, 2 passed in 1s", is_error=True), ran("pytest", "3 passed in 1s")
    assert evidence(first, last) == {"tests": {"passed": 3, "failed": 0}}
    assert evidence(last, first) == {"tests": {"passed": 2, "failed": 1}}


def test_a_run_that_failed_without_a_failed_test_says_nothing() -> None:
    assert evidence(ran("pytest && lint", "3 passed in 1s\nE501", is_error=True)) == {}


def test_a_test_summary_in_a_file_is_no_test_run() -> None:
    assert evidence(ran("cat log.txt", "3 passed in 1s")) == {}
    read = Call("c", "Read", {"file_path": "log"}, None, observation="3 passed in 1s")
    assert evidence(read) == {}


OUTPUT = "/tmp/claude-1000/-home-me-shop/5d6e/tasks/b1jz30af5.output"
WAITED = "<task_type>local_bash</task_type>\n\n<exit_code>{}</exit_code>\n\n<output>\n{}\n</output>"


@pytest.mark.parametrize(
    ("tool", "args", "shown"),
    [
        ("Read", {"file_path": OUTPUT}, "F..\n1 failed, 2 passed in 0.1s\n"),
        ("Read", {"file_path": OUTPUT}, "     1\tF..\n     2\t1 failed, 2 passed in 0.1s\n"),
        ("Read", {"file_path": OUTPUT.replace("/", "\\")}, "1\u2192F..\n2\u21921 failed, 2 passed in 0.1s"),
        ("Bash", {"command": f"tail -5 {OUTPUT}"}, "1 failed, 2 passed in 0.1s"),
        ("Bash", {"command": f"cat {OUTPUT} | tail -3"}, "1 failed, 2 passed in 0.1s"),
        ("TaskOutput", {"task_id": "b1jz30af5"}, WAITED.format(1, "1 failed, 2 passed in 0.1s")),
        ("BashOutput", {"bash_id": "b1jz30"}, "<stdout>\n1 failed, 2 passed in 0.1s\n</stdout>"),
    ],
)
def test_what_a_command_in_the_background_printed_counts_where_it_is_read(
    tool: str, args: dict[str, Any], shown: str
) -> None:
    begun = Call("b", "Bash", {"command": "pytest", "run_in_background": True}, None, observation="", is_error=False)
    read = Call("c", tool, args, None, observation=shown, is_error=False)
    assert evidence(begun, read) == {"tests": {"passed": 2, "failed": 1}}
    judged = Call("c", tool, args, None, observation=shown, is_error=True)  # as the stored step tells it
    assert evidence(begun, judged) == {"tests": {"passed": 2, "failed": 1}}
    assert evidence(begun, read, ran("pytest", "3 passed in 1s")) == {"tests": {"passed": 3, "failed": 0}}


@pytest.mark.parametrize(
    ("tool", "args", "shown"),
    [
        ("TaskOutput", {"task_id": "b1"}, WAITED.format(2, "3 passed in 0.1s")),
        ("TaskOutput", {"task_id": "a1"}, WAITED.format(0, "3 passed in 1s").replace("local_bash", "local_agent")),
        ("Read", {"file_path": "/home/me/shop/tasks/notes.txt"}, "3 passed in 0.1s"),
        ("Read", {"file_path": OUTPUT}, "collecting"),
    ],
)
def test_what_tells_of_no_tests_in_the_background_counts_for_nothing(
    tool: str, args: dict[str, Any], shown: str
) -> None:
    assert evidence(Call("c", tool, args, None, observation=shown, is_error=False)) == {}


def test_the_last_commit_counts_and_whether_it_was_taken_back() -> None:
    made = ran("git commit -m x", "[main 1a2b3c4] x\n 1 file changed")
    assert evidence(made) == {"commit": {"sha": "1a2b3c4", "reverted": False}}
    assert evidence(made, ran("git -C shop revert HEAD", "")) == {"commit": {"sha": "1a2b3c4", "reverted": True}}
    again = ran("git commit -qm y && git rev-parse --short HEAD", "5d6e7f8\n")
    assert evidence(made, ran("git reset --hard HEAD~1", ""), again)["commit"] == {"sha": "5d6e7f8", "reverted": False}


def test_a_quiet_commit_is_known_by_the_log_behind_it_or_by_the_client() -> None:
    known = {"commit": {"sha": "1a2b3c4", "reverted": False}}
    log = "1a2b3c4 (HEAD -> main) mend the till\n5d6e7f8 add the till\n"
    assert evidence(ran("git commit -qm 'mend the till'; git log --oneline --decorate -2", log)) == known
    written = "git commit -qF - <<'EOF'\nmend the till\n\nIt was broken.\nEOF\n"
    assert evidence(ran(f"{written}git log --oneline -1", "1a2b3c4 mend the till\n")) == known
    assert evidence(ran(f"{written}echo at $(git log -1 --format='%h %s')", "at 1a2b3c4 mend the till\n")) == known
    refused = ran(f"{written}git log --oneline -1", "On branch main\nnothing to commit\n5d6e7f8 add the till\n")
    assert evidence(refused) == {}
    told = ran("git commit -qm x", "")
    told.commit = "1a2b3c4"
    assert evidence(told) == {"commit": {"sha": "1a2b3c4", "reverted": False}}


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["bash", "-lc", "make all"], "make all"),
        (["powershell.exe", "-NoProfile", "-Command", "make all"], "make all"),
        (["cmd", "/c", "make all"], "make all"),
        (["git", "commit", "-m", "two words"], "git commit -m 'two words'"),
        (["make"], "make"),
        ([], ""),
    ],
)
def test_a_command_of_several_words_is_one_line(words: list[str], line: str) -> None:
    assert command_of(Call("c", "shell", {"command": words}, None)) == line


def test_a_commit_that_failed_or_lies_in_a_playground_is_none() -> None:
    assert evidence(ran("git commit -m x", "nothing to commit", is_error=True)) == {}
    assert evidence(ran("cd /tmp/x && git init && git commit -m x", "[main (root-commit) 1a2b3c4] x")) == {}
    assert evidence(ran("git log --grep commit", "[main 1a2b3c4] x")) == {}


def test_a_push_counts_with_what_it_brought_there() -> None:
    pushed = ran("git push", "To example.org:a/b.git\n   79392c74..06e93767  x -> x")
    assert evidence(pushed) == {"commit": {"sha": "06e93767", "reverted": False}}
    forced = ran("git fetch && git push --force", "To example.org:a/b.git\n + 5d6e7f8...1a2b3c4 x -> x (forced update)")
    assert evidence(pushed, forced) == {"commit": {"sha": "1a2b3c4", "reverted": False}}
    assert evidence(ran("git push", "Everything up-to-date")) == {}
    assert evidence(ran("git fetch", "From example.org:a/b\n   79392c74..06e93767  x -> origin/x")) == {}


def test_the_last_check_of_a_task_runner_counts() -> None:
    assert evidence(ran("mise run fmt && mise run lint", "0 issues.\n[lint] $ golangci-lint run")) == {"exit_code": 0}
    assert evidence(ran("just lint", "E501", is_error=True)) == {"exit_code": 1}
    assert evidence(ran("mise install", "All checks passed!")) == {}


@pytest.mark.parametrize(
    "words",
    [
        "I like Option C",
        "thanks, now the next one",
        "Great!",
        "that works now",
        "ok perfect",
        "LGTM",
        "looks good to me",
        "Nice.",
    ],
)
def test_praise_counts(words: str) -> None:
    assert evidence(said=(words,)) == {"user": "positive"}


@pytest.mark.parametrize(
    "words",
    [
        "it still fails",
        "still failing on CI",
        "that's wrong",
        "no, that doesn\u2019t work",
        "revert that",
        "not what I meant",
    ],
)
def test_blame_counts(words: str) -> None:
    assert evidence(said=(words,)) == {"user": "negative"}


@pytest.mark.parametrize(
    "words",
    [
        "yes",
        "Fix the broken links in the manual",
        "Work on the parser",
        "great idea from Kim: support dollars",
        "wrong label on the button, mend it",
        "linting is failing now",
        "use a nice colour",
        "no, take the other one",
    ],
)
def test_a_further_wish_is_neither(words: str) -> None:
    assert evidence(said=(words,)) == {}


def test_the_last_word_counts() -> None:
    assert evidence(said=("it still fails", "thanks")) == {"user": "positive"}
    assert evidence(said=("thanks", "it still fails")) == {"user": "negative"}


def test_blame_counts_no_more_when_the_user_goes_on() -> None:
    assert evidence(said=("it still fails", "Now translate the manual")) == {}
    assert evidence(said=("thanks", "Now translate the manual")) == {"user": "positive"}


@pytest.mark.parametrize(("word", "value"), [("negative", -8.0), ("positive", 8.0)])
def test_the_users_word_is_news_once_the_task_is_over(word: str, value: float) -> None:
    assert news({"user": word}, {}, final=False) == []
    assert [reward.value for reward in news({"user": word}, {}, final=True)] == [value]


def test_work_that_was_taken_back_is_blamed_until_it_is_done_in_another_way() -> None:
    assert evidence(said=["undo that", "Add a door"]) == {"user": "negative"}
    assert evidence(said=["it still fails", "Add a door"]) == {}
    assert evidence(said=["undo that", "use a list instead"]) == {}
    assert evidence(said=["undo that", "make it shorter", "Add a door"]) == {}
    assert evidence(said=["undo that", "great, thanks"]) == {"user": "positive"}


def test_blame_that_says_how_work_is_to_be_done_does_more_than_judge() -> None:
    assert judges("that's wrong")
    assert not judges("that's wrong, the export must stay semicolon separated")
    assert not judges("not what I meant. use pnpm instead of npm")


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("谢谢\uff0c可以了", "positive"),
        ("还是不行", "negative"),
        ("ありがとうございます", "positive"),
        ("まだ動きません", "negative"),
        ("спасибо, работает", "positive"),
        ("всё равно не работает", "negative"),
        ("¡gracias! perfecto", "positive"),
        ("sigue sin funcionar", "negative"),
        ("merci", "positive"),
        ("ça ne marche pas", "negative"),
        ("das funktioniert nicht", "negative"),
        ("ainda não funciona", "negative"),
        ("funcionalidad nueva: exportar", None),
        ("funciona muy lento", None),
        ("работает медленно", None),
        ("es funktioniert!", "positive"),
        ("把按钮改成蓝色", None),
        ("danke, aber es geht nicht", None),
        ("谢谢\uff0c但是还是报错", None),
        ("merci, mais ça ne marche pas", None),
        ("gracias, pero no funciona", None),
        ("perfeito, mas o botão sumiu", None),
        ("grazie, ma non funziona", None),
        ("спасибо, но не работает", None),
        ("ありがとう、でも動きません", None),
        ("감사합니다 하지만 안돼요", None),
    ],
)
def test_praise_and_blame_of_other_languages_are_known(said: str, value: str | None) -> None:
    assert evidence(ran("ls", ""), said=(said,)).get("user") == value
