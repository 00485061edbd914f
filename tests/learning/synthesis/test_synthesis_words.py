"""The words of a skill's description."""

from __future__ import annotations

from prowess.learning.synthesis.words import Vocabulary


def test_where_all_tasks_are_alike_a_skill_has_the_words_that_they_share() -> None:
    told = "The test of {} in calc fails. Mend it."
    tasks = {
        name: (told.format(name), moves)
        for name, moves in (("add", ["Edit"]), ("divide", ["Edit"]), ("multiply", ["patch"]), ("subtract", ["patch"]))
    }
    vocabulary = Vocabulary(tasks)
    for ids, moves in ((["add", "divide"], ["Edit"]), (["multiply", "subtract"], ["patch"])):
        assert vocabulary.salient(ids, moves) == ["calc", "fails", "mend", "test"]


def test_a_word_that_all_tasks_share_stays_away_where_others_tell_them_apart() -> None:
    things = {"1": "sum", "2": "sum", "3": "root", "4": "root"}
    vocabulary = Vocabulary({name: (f"Mend the {thing} of calc", [thing]) for name, thing in things.items()})
    assert vocabulary.salient(["1", "2"], ["sum"]) == ["sum"]


def test_what_any_task_may_say_is_no_keyword_where_no_word_is_telling() -> None:
    tasks = {
        "1": ("Use the new file api for uploads of invoices", ["x"]),
        "2": ("Add a new file for invoices, use less code", ["x"]),
        "3": ("Send mails for the shop", ["y"]),
    }
    vocabulary = Vocabulary(tasks)
    assert vocabulary.salient(["1", "2"], ["x"]) == ["invoices"]
    assert (vocabulary.share("invoice", ["1", "2", "3"]), vocabulary.share("mail", ["1", "2"])) == (2 / 3, 0.0)


def test_a_clause_without_spaces_is_no_keyword() -> None:
    clause, word = "请帮我查询从北京到上海的航班并预订最便宜的一个然后把确认邮件发到我的邮箱里面谢谢你们", "取消订单"
    assert len(clause) > 40
    vocabulary = Vocabulary({"1": (f"{clause} {word}", ["x"]), "2": (f"{clause} {word}", ["x"]), "3": ("其他", ["y"])})
    assert vocabulary.salient(["1", "2"], ["x"]) == [word]
