"""What a person's next words say of what was done before."""

from __future__ import annotations

import pytest

from prowess.learning.verdict import undoes, verdict_of


@pytest.mark.parametrize(
    "said",
    [
        "still no change",
        "Hm. The menu still flickers",
        "ok, the table still can't be sorted",
        "nope, same result",
        "hmm, not working",
        "hey, that's wrong",
        "the problem persists, look at the cache",
        "it's the same",
        "try that again",
        "this isn't loading in Firefox",
        "the import button doesnt do anything",
        "[Image #2] I don\u2019t see the new column",
        "nothing happens when I press save",
        "none of my photos are there",
        "it crashes as soon as I resize the window",
        "the upload failed",
        "that's all gone now",
        "when I start the server I get a 502",
        "I'm getting a type error in the checkout",
        "Error: listen EADDRINUSE: address already in use",
        'Traceback (most recent call last):\n  File "shop.py", line 3, in <module>\nKeyError: 2',
        "no, I meant the other invoice",
        "I asked for euros",
        "you forgot the tests",
        "why did you delete the changelog?",
        "undo",
        "please revert that",
        "put it back",
        "wrong file",
        "no change",
        "not quite",
        "even worse",
        "i don't like it",
        "tests fail again",
        "page is blank now",
        "the error is still there",
        "now I get TypeError: total is not a function",
        "it throws an exception",
        "you edited the wrong file",
        "you've hardcoded the url again",
        "it deleted my notes",
        "thanks for nothing",
        "thanks for breaking the build",
        "good job deleting my files",
    ],
)
def test_what_says_that_it_failed_is_negative(said: str) -> None:
    assert verdict_of(said) == "negative"


@pytest.mark.parametrize(
    "said",
    [
        "thanks a lot!",
        "Thank you. Next, the footer",
        "it works now",
        "ok the login works, on to the profile page",
        "that's fixed",
        "the dark theme is beautiful",
        "looks much better",
        "great, now the footer",
        "that did the trick",
        "i like where this is going",
        "that fixed the login",
        "the bug is gone",
        "no more errors",
        "nothing broke",
        "it didn't break anything",
        "so far so good",
        "everything passes now",
        "it compiles now",
        "nice one",
        "well done!",
        "nailed it",
        "exactly what I wanted",
        "much better",
        "this is way cleaner",
        "I'm happy with it",
        "couldn't be better",
        "can't complain",
        "tested it, works",
    ],
)
def test_what_says_that_it_worked_is_positive(said: str) -> None:
    assert verdict_of(said) == "positive"


@pytest.mark.parametrize(
    "said",
    [
        "it works, but the footer is gone",
        "thank you, however the totals do not add up",
        "nice, the list shows. There is another problem: it never ends",
        "looks good. The button is too small",
        "great. I still get the error",
        "perfect! one bug: the total is wrong",
        "it works now. The sidebar does not close",
        "great work. there is a gap at the top",
        "good, the header is fixed, the footer isn't",
        "Thank you. you missed the second file",
    ],
)
def test_praise_with_a_but_is_neither(said: str) -> None:
    assert verdict_of(said) is None


@pytest.mark.parametrize(
    "said",
    [
        "",
        "continue",
        "yes, do it",
        "Fix the error in the parser",
        "make sure it doesn't crash on an empty file",
        "if the upload fails, show a message",
        "add a test for what is still missing. The old one is wrong",
        "can you check whether the login works?",
        "is it working?",
        "do not commit",
        "we still need a logo",
        "great idea: a dark theme",
        "show me how the cache works",
        "I want the errors in red",
        "what does this error mean?",
        "thanks in advance",
        "no thanks",
        "i like the idea of a queue",
        "better: use a map",
        "better names would help",
        "no errors should be shown to users",
        "wrong password should show an error",
        "failing tests should block the merge",
        "the button is red",
    ],
)
def test_what_asks_for_something_is_neither(said: str) -> None:
    assert verdict_of(said) is None


@pytest.mark.parametrize(
    "said",
    [
        "no build errors",
        "no new errors in the console",
        "ok, no issues remain",
        "I get no errors now",
        "getting no errors anymore",
        "we no longer see the error",
        "I see the errors are gone",
        "the error is gone",
        "the crash disappeared",
        "I can see that the error is fixed",
        "no tests failed",
        "12 passed, 0 failed",
        "the build has not failed",
        "it never crashed",
        "still no errors",
        "I am not getting an error",
    ],
)
def test_trouble_that_is_denied_is_no_failure(said: str) -> None:
    assert verdict_of(said) != "negative"


@pytest.mark.parametrize(
    "said",
    [
        "no the build failed",
        "the error is not gone",
        "the menu is gone",
        "no, tests failed",
        "still no luck",
        "I get a no such file",
    ],
)
def test_a_no_that_denies_something_else_does_not_take_the_failure_away(said: str) -> None:
    assert verdict_of(said) == "negative"


@pytest.mark.parametrize(
    "said",
    [
        "you did not break anything",
        "you haven't broken a thing",
        "You didn't miss anything, great",
        "you missed nothing",
        "you didn't have to do that",
        "you should have access now",
        "none of the tests failed",
        "nothing is broken",
        "I don't see any errors",
        "I cannot find any issues",
        "the error does not show any more",
        "the bug no longer occurs",
        "it still looks good",
        "the build still passes",
        "I got this working",
    ],
)
def test_blame_that_is_denied_is_no_failure(said: str) -> None:
    assert verdict_of(said) != "negative"


@pytest.mark.parametrize(
    "said",
    [
        "you did not add the tests",
        "you didn't change anything",
        "you should have used the other one",
        "the error still shows",
        "I don't see the error message",
        "still looks wrong",
        "I got this error",
        "that looks awful",
        "the picture is not present",
        "Fix didn't work.",
        "the swap not loading",
        "update failed",
        "why doesn't it load?",
        "it keeps resetting the form",
        "the page looks cheap",
        "you are ignoring the plan",
    ],
)
def test_words_that_deny_something_else_leave_the_blame(said: str) -> None:
    assert verdict_of(said) == "negative"


@pytest.mark.parametrize(
    "said",
    [
        "nice. can you make the text bigger?",
        "thanks, please fix the typo in the readme",
        "great. When the user is not logged in, redirect to the login",
        "it works now. next: a login that does not need a password",
    ],
)
def test_a_wish_behind_praise_leaves_it_praise(said: str) -> None:
    assert verdict_of(said) == "positive"


@pytest.mark.parametrize(
    "said",
    [
        "ok great, it works.",
        "that came out amazing",
        "really quite impressive",
        "you are doing great",
        "I love it. Do not change it",
    ],
)
def test_praise_has_many_forms(said: str) -> None:
    assert verdict_of(said) == "positive"


def test_what_goes_on_well_is_no_failure() -> None:
    for said in (
        "it keeps running",
        "I'm not great at regular expressions",
        "fix the test",
        "show nothing when it is empty",
    ):
        assert verdict_of(said) is None


def test_none_of_it_is_no_praise() -> None:
    assert verdict_of("none of it works") == "negative"


def test_only_the_beginning_is_read() -> None:
    wish = "The report has a page for each month of the year and one more page for all of them together"
    assert verdict_of("\n".join([wish, wish, wish, "that is wrong"])) is None


@pytest.mark.parametrize(
    "said",
    [
        "revert it",
        "we never do that here, revert it",
        "hm, revert it please",
        "that was not asked for, please roll it back",
        "I don't like it, undo that",
        "roll that back",
        "roll everything back please",
        "back it out",
        "go back to how it was",
        "let's go back to the old version",
        "restore the previous version",
        "put it back how it was",
        "I'd like you to revert it",
        "you touched the wrong file, undo it and start over",
        "ugh, please just revert it",
        "this is more complex than I wanted. Let's go back to the previous version",
        "thanks, but undo that",
    ],
)
def test_to_take_the_work_back_is_blame(said: str) -> None:
    assert verdict_of(said) == "negative"
    assert undoes(said)


@pytest.mark.parametrize(
    "said",
    [
        "revert the commit from last week",
        "revert the changes from PR 12",
        "revert PR #12",
        "revert commit 3fa4b2c1",
        "revert Anna's changes",
        "add an undo button",
        "undo should work with ctrl-z",
        "how do I undo a commit?",
        "undo that when the user presses escape",
        "show a toast, undo it on click",
        "add a migration, and roll it back in the test",
        "roll back the transaction on error",
        "roll back the deploy in production",
        "roll back to the previous version of node",
        "revert it if the tests fail",
        "I'll test it and revert it",
        "we can undo that later, go on",
        "don't revert it",
        "go back to the list after saving",
        "let's go back to the header task",
        "restore the scroll position",
    ],
)
def test_to_take_something_else_back_is_no_blame(said: str) -> None:
    assert verdict_of(said) != "negative"
    assert not undoes(said)


def test_blame_that_takes_nothing_back_does_not_undo() -> None:
    assert not undoes("it still fails")


@pytest.mark.parametrize(
    "said",
    [
        "before your change it didn't work",
        "it didn't work before",
        "it was broken before you started",
        "the old version didn't work so we rewrote it",
        "the previous implementation failed on windows",
        "my laptop crashed",
        "I was wrong, use the first one",
        "I don't see why",
        "users said it didn't work on Safari",
        "the customer says it still fails on Safari",
    ],
)
def test_what_failed_earlier_or_elsewhere_is_no_blame(said: str) -> None:
    assert verdict_of(said) is None


@pytest.mark.parametrize(
    "said", ["it is worse than before", "the same error as before", "it worked yesterday but now it fails"]
)
def test_what_is_worse_than_before_is_blame(said: str) -> None:
    assert verdict_of(said) == "negative"


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        ("it works now?", None),
        ("great. if the footer breaks, tell me", "positive"),
        ("great. is the footer broken?", "positive"),
        ("works now. nothing is broken", "positive"),
        ("perfect. what fails is the other job", "positive"),
        ("looks good. why does the footer not load?", "positive"),
        ("looks good, when the footer fails to load show a note", "positive"),
        ("works. the console errors are gone", "positive"),
        ("great, please add a footer. it still crashes", None),
        ("great, please make it blue. it is broken", None),
        ("works great. undo that", "negative"),
    ],
)
def test_each_clause_behind_praise_is_read_by_itself(said: str, verdict: str | None) -> None:
    assert verdict_of(said) == verdict


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        ("it doesn't crash anymore", "positive"),
        ("the tests no longer fail", "positive"),
        ("the server is no longer crashing", "positive"),
        ("nice. it does not flicker any more", "positive"),
        ("it no longer works", "negative"),
        ("the page is no longer loading", "negative"),
        ("works, but the logo no longer loads", None),
        ("the page no longer flickers, but the footer is gone", None),
        ("the popup no longer appears", None),
        ("it no longer saves every keystroke", None),
        ("it does not fail gracefully", None),
        ("make sure it no longer crashes", None),
        ("does it no longer crash?", None),
        ("we no longer use yarn", None),
    ],
)
def test_what_is_so_no_more_is_praise_of_a_failure_and_blame_of_what_worked(said: str, verdict: str | None) -> None:
    assert verdict_of(said) == verdict
