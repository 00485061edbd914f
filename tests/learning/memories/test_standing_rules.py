"""What a person says of how work is done here is told from what the task asks for."""

from __future__ import annotations

import time

import pytest

from prowess.learning.memories.standing_rules import only_lifts, rules_in, says_how


@pytest.mark.parametrize(
    ("said", "rules"),
    [
        ("no, we use uv here, never pip. And always put a server_default in migrations", 2),
        ("never push to main, open a PR from a branch instead", 1),
        ("don't use unwrap in library code, return a Result instead", 1),
        ("use dbt build instead of dbt run, so that the tests run too", 1),
        ("that is not correct, we don't gitignore the whole entire folder", 1),
        ("no. tests go in tests/unit, not next to the code", 1),
        ("stop adding comments everywhere", 1),
        ("don't ever force push", 1),
        ("we don't mock the database in tests here", 1),
        ("don't run migrations against production", 1),
        ("always answer in german", 1),
        ("run make lint before you commit", 1),
        ("good. btw always run clippy before you commit", 1),
        ("never edit an old migration, always add a new file", 1),
        ("don\u2019t commit yet", 0),
        ("now use that instead of this", 0),
        ("don't worry about it", 0),
        ("never mind", 0),
        ("no it still fails", 0),
        ("use option 2 instead", 0),
        ("no, use the other branch", 0),
        ("can we always use the new one?", 0),
        ("don't change it", 0),
        ("no, undo that", 0),
        ("stop the server", 0),
        ("always happy to help", 0),
        ("```\nnever push to main\n```", 0),
        ("never push to main " + "x" * 600, 0),
    ],
)
def test_a_prompt_that_steers_states_rules(said: str, rules: int) -> None:
    assert len(rules_in(f"Add a flag\n\n{said}")) == rules
    assert says_how(said) == (rules > 0)


def test_what_a_correction_asks_for_says_how_to_go_on_also_where_it_is_no_rule() -> None:
    assert says_how("that's wrong, the export must stay semicolon separated")
    assert not says_how("no it still fails")


@pytest.mark.parametrize(
    "said",
    [
        "In this project there is a bug where the cache is never cleared",
        "In this repo, find all usages of foo() and rename them to bar()",
        "On this project the tests take 20 minutes, make them faster",
        "from now on the API returns 404 for missing users, update the client",
        "Never write more than 100 rows per batch in the importer",
        "Always update the timestamp when the record changes",
        "Always open links in a new tab",
        "Always commit the transaction before the event is sent",
        "never push to the history stack on redirect",
        "always run the migrations when the container starts",
        "in our project we use npm, please migrate to bun",
        "use npm ci instead of npm install in the Dockerfile",
        "we have to update the snapshots",
        "no, the CI job must cache npm",
        "nope. use prettier defaults",
        "never used docker before, help me please",
        "don't create a branch, work on main",
        "We use websockets here to push updates but they disconnect every minute",
        "we don't use the legacy API anymore, please delete legacy.py",
        "run the tests in this project and fix what fails",
        "use pnpm in this project to install lodash",
        "no, the button must be on the right",
        "no, users go to the login page",
        "we use the same function in two places, extract it",
        "use flexbox instead of grid",
        "always returns null",
        "don't push, I'll review",
        "don't start the server, it's already running",
        "don't update the snapshots, the change is wrong, I need to fix the tests",
        "You are an expert code reviewer. Never commit to main.",
        "Put that into CONTRIBUTING.md:\nnever push to main",
    ],
)
def test_what_a_prompt_says_of_the_product_or_of_the_moment_is_no_rule(said: str) -> None:
    assert rules_in(said) == []
    assert rules_in(f"Add a flag\n\n{said}") == []


@pytest.mark.parametrize(
    ("said", "rule"),
    [
        (
            "Going forward. Let's keep a plan in the notes folder",
            "Going forward. Let's keep a plan in the notes folder",
        ),
        ("ok, from now on if a step is unclear, ask me first", "from now on if a step is unclear, ask me first"),
        ("for the future, tell me what you could not check", "for the future, tell me what you could not check"),
        ("#at the start of every session read NOTES.md", "at the start of every session read NOTES.md"),
        ("That is fine.#going forward, make smaller steps", "going forward, make smaller steps"),
        ("run the whole suite before every push", "run the whole suite before every push"),
        ("commit after you finish each part", "commit after you finish each part"),
        ("and never auto-commit my changes", "never auto-commit my changes"),
        ("I told you not to commit, undo that", "I told you not to commit, undo that"),
        ("I've already told you to always run mypy", "I've already told you to always run mypy"),
        ("ask one question at a time, please", "ask one question at a time, please"),
        ("you must never touch the vendor folder", "you must never touch the vendor folder"),
        ("we should never hardcode a port, please take it out", "we should never hardcode a port"),
        ("dont delete anything without asking me", "dont delete anything without asking me"),
        ("Do not restart the box unless I tell you to", "Do not restart the box unless I tell you to"),
        ("I need to approve every deletion", "I need to approve every deletion"),
        ("I need to approve any and all deletions", "I need to approve any and all deletions"),
        ("remember our Rule: #all new pages come with a plan", "our Rule: #all new pages come with a plan"),
        ("remember our rule: each idea gets its own file", "our rule: each idea gets its own file"),
    ],
)
def test_what_says_that_it_holds_for_good_is_a_rule_of_any_prompt_and_about_anything(said: str, rule: str) -> None:
    assert rules_in(said) == rules_in(f"Add a flag\n\n{said}") == [rule]


@pytest.mark.parametrize(
    "said",
    [
        "in the future we should add a dark mode",
        "In the future, add a filter by year",
        "next time the page loads it is empty",
        "you should always be able to go back from the form",
        "you should never see the same card twice",
        "we should always show the total",
        "never delete a record without confirmation",
        "run the import after each upload",
        "commit the transaction after every row",
        "do not auto commit the transaction",
        "I told you to always show the total",
        "one image at a time please",
        "should you always ask before every commit?",
        "I will edit the text there from now on",
        "show me how to stop that in the future",
        "# Rules of the game",
    ],
)
def test_what_lasts_in_the_product_or_is_told_of_oneself_is_no_rule(said: str) -> None:
    assert rules_in(said) == rules_in(f"Add a flag\n\n{said}") == []


def test_what_a_rule_allows_is_told_from_what_it_asks_for() -> None:
    assert rules_in("you can push to main again") == ["you can push to main again"]
    assert only_lifts("from now on you can push to main")
    assert only_lifts("you may now push to main again.")
    assert not only_lifts("never push to main")
    assert not only_lifts("we moved to npm")
    assert not only_lifts("we no longer use yarn")  # which gives up a tool
    assert only_lifts("you no longer have to use yarn")
    assert rules_in("you can push to main") == []  # this once


@pytest.mark.parametrize(
    ("task", "rules"),
    [
        ("no, we use pnpm here", ["we use pnpm here"]),
        ("never commit to main", ["never commit to main"]),
        ("Add a flag. We use pnpm here, not npm.", ["We use pnpm here, not npm."]),
        ("In this repo migrations are written by hand", ["In this repo migrations are written by hand"]),
        ("Please never edit generated files, change the .proto", ["never edit generated files, change the .proto"]),
        ("Always show the total on the invoice page", []),
        ("The cache should never return stale values, fix it", []),
        ("Use httpx instead of requests in client.py", []),
        ("Write a script that never stops", []),
        ("Don't use a global in cache.py", []),
    ],
)
def test_of_the_first_prompt_only_what_stands_for_all_work_counts(task: str, rules: list[str]) -> None:
    assert rules_in(task) == rules


def test_a_sentence_behind_a_rule_is_told_with_it_and_a_question_is_not() -> None:
    assert rules_in("x\n\nnever deploy by hand. The bot does. Is CI green?") == ["never deploy by hand. The bot does."]
    for behind in ("Is CI green?", "Now fix the header", "I want to see it first"):
        assert rules_in(f"x\n\nnever deploy by hand. {behind}") == ["never deploy by hand."]
    assert rules_in("you can push to main again. Thanks a lot") == ["you can push to main again"]
    assert rules_in("never run npm install here, always npm ci. can you look what is outdated") == [
        "never run npm install here, always npm ci."
    ]


def test_of_one_task_a_few_rules_are_kept_each_once() -> None:
    said = [f"never push to main of fork {number}" for number in range(9)]
    assert rules_in("\n\n".join(["x", *said, *said])) == said[:4]


@pytest.mark.parametrize(
    "unit",
    ["no, ", "we use a a ", "the must ", "never ", "use x-", "every time ", "you can a without ", "we moved from a "],
)
@pytest.mark.parametrize("size", [480, 1_990])
def test_a_hostile_prompt_costs_as_much_as_another_of_its_length(unit: str, size: int) -> None:
    def cost(repeated: str) -> float:
        said = (repeated * size)[:size]
        begin = time.process_time()
        rules_in("x\n\n" + "\n\n".join([said] * 50))
        return time.process_time() - begin

    cost("the totals are right and so on ")  # what is only done once
    assert cost(unit) < 12 * cost("the totals are right and so on ") + 0.5


@pytest.mark.parametrize(
    "said",
    [
        "use uv not pip",
        "Use pnpm instead of npm.",
        "pytest rather than unittest, please",
        "always use tabs, not spaces",
    ],
)
def test_which_of_two_tools_of_one_role_is_used_is_a_rule_of_any_prompt(said: str) -> None:
    assert rules_in(said) == [said]
    assert len(rules_in(f"Add a page. {said}")) == 1


@pytest.mark.parametrize(
    "said",
    [
        "use pnpm instead of npm in the Dockerfile",
        "use jest not mocha for this test",
        "can you use uv not pip?",
        "use npm instead of yarn and update the lockfile",
        "it uses npm instead of pnpm",
        "we have tabs instead of spaces",
        "answer in english not german",
        "npm not pnpm failed here",
        "use pip, not uv, today",
    ],
)
def test_which_of_two_tools_something_uses_is_no_rule(said: str) -> None:
    assert rules_in(said) == []
