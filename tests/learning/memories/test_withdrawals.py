"""A person's word that something holds no more takes back the rule that is meant, and no other."""

from __future__ import annotations

import pytest

from prowess.learning.memories.joining import merged
from prowess.learning.memories.lessons import SAID, rule_of
from prowess.learning.memories.standing_rules import rules_in
from prowess.storage.models import Memory

PNPM = "we use pnpm here"
NO_NPM = "never use npm"
SUITE = "always run the full suite before committing"
NO_SUITE = "never commit without running the full suite"
MAIN = "never push to main, open a PR instead"
NEAR = {
    "we use uv here, never pip",
    "never push to prod",
    "never push to main on fridays",
    "always run the linter before committing",
    "always run the e2e tests before every release",
    "use pnpm only for the docs",
    "never edit generated files",
    "don't commit secrets",
    "always run the tests before committing",
}


def said_at(day: int, *rules: str) -> list[Memory]:
    return [rule_of(rule, project="shop", at=f"2030-01-{day:02}T00:00:00.000Z") for rule in rules]


def told_after(said: str, *older: str) -> set[str]:
    """The rules that a session is told once ``said`` was typed in it, as its first words and as later ones."""
    known = merged([], said_at(1, *older))
    first, later = (merged(known.values(), said_at(2, *rules_in(task))) for task in (said, f"Add a flag\n\n{said}"))
    told = [{m.text.removeprefix(SAID) for m in each.values() if not m.superseded_by} for each in (first, later)]
    assert told[0] & set(older) == told[1] & set(older)
    return told[1]


@pytest.mark.parametrize(
    ("said", "rule"),
    [
        ("actually we use npm here now, CI moved", PNPM),
        ("we use npm now", PNPM),
        ("heads up: we now use npm here", PNPM),
        ("we moved to npm", PNPM),
        ("we've switched to npm. Fix the readme", PNPM),
        ("we switched back from pnpm to npm", PNPM),
        ("we're back on npm", PNPM),
        ("instead of pnpm we now use npm", PNPM),
        ("we use npm instead of pnpm now", PNPM),
        ("use npm from now on", PNPM),
        ("we replaced pnpm with npm", PNPM),
        ("we dropped pnpm for npm", PNPM),
        ("we dropped pnpm", PNPM),
        ("we no longer use pnpm", PNPM),
        ("we don't use pnpm any more", PNPM),
        ("we stopped using pnpm", PNPM),
        ("pnpm is no longer required", PNPM),
        ("you don't need to use pnpm any more", PNPM),
        ("we use npm here now, not pnpm", PNPM),
        ("this project uses npm now", PNPM),
        ("in our repo we use npm now", PNPM),
        ("the team moved to npm last month", PNPM),
        ("CI moved to npm, so we use npm here now", PNPM),
        ("no more pnpm, we use npm now", PNPM),
        ("we use npm now, pnpm is gone", PNPM),
        ("we went back to npm because pnpm was slow", PNPM),
        ("no, stop using pnpm, we moved to npm", PNPM),
        ("forget what I said about pnpm", PNPM),
        ("stop following the pnpm rule", PNPM),
        ("the rule about pnpm no longer applies", PNPM),
        ("npm is fine again", NO_NPM),
        ("npm is allowed again", NO_NPM),
        ("it's ok to use npm again", NO_NPM),
        ("you can use npm again", NO_NPM),
        ("we use npm here now", NO_NPM),
        ("npm is back to use again, the registry was fixed", NO_NPM),
        ("you can commit without running the full suite again, it got too slow", SUITE),
        ("you can commit without running the full suite again, it got too slow", NO_SUITE),
        ("you don't have to run the full suite any more", SUITE),
        ("we no longer need to run the full suite before a commit", SUITE),
        ("no need to run the full suite before committing anymore", SUITE),
        ("there's no need to run the full suite any more, CI does it", NO_SUITE),
        ("you can skip the full suite from now on", SUITE),
        ("running the full suite is no longer necessary", SUITE),
        ("stop running the full suite before every commit", SUITE),
        ("don't run the full suite any more", SUITE),
        ("ignore the rule about the full suite", SUITE),
        ("drop the rule about running the full suite before committing", SUITE),
        ("you can push to main again", MAIN),
        ("ok, from now on you can push to main", MAIN),
        ("pushing to main is fine again", MAIN),
        ("pushing directly to main is no longer forbidden", MAIN),
        ("it is fine to push to main from now on", MAIN),
        ("forget what I told you about pushing to main", MAIN),
        ("ignore my rule about pushing to main from now on", MAIN),
        ("disregard the instruction not to push to main", MAIN),
        ("we switched back to npm last week btw", PNPM),
        ("from now on answer in English", "answer in German"),
        ("we no longer need changelog entries in PRs", "every PR needs a changelog entry"),
        ("you can edit the generated code again", "don't touch the generated code"),
        (
            "you dont need to ask me before installing dependencies anymore",
            "ask me before installing any new dependency",
        ),
    ],
)
def test_what_holds_otherwise_now_takes_back_the_rule_that_is_meant(said: str, rule: str) -> None:

    told = told_after(said, *sorted(NEAR | {rule}))
    assert rule not in told
    assert told >= NEAR


@pytest.mark.parametrize(
    "said",
    [
        # the task
        "remove pnpm from the Dockerfile",
        "migrate this project to npm",
        "switch to npm",
        "move the build from pnpm to npm",
        "replace pnpm with npm in the CI job",
        "use npm in the Dockerfile",
        "write a script that works without pnpm",
        "drop the full suite from the nightly job",
        "ignore the eslint rule about unused imports",
        "drop the firewall rule about port 80",
        "add an option to skip the full suite",
        "explain why we use pnpm and not npm",
        "forget about the tests, just ship it",
        "the button is fine again",
        "the pnpm cache is no longer needed in the image",
        "we stopped the server",
        "allow users to push to main again",
        "make the bot stop pushing to main",
        # a question, a plan, a guess
        "should we use npm now?",
        "can you push to main again?",
        "do we still use pnpm here?",
        "what if we switched to npm?",
        "we might switch to npm",
        "we are moving to npm next month",
        "we should use npm",
        "I think we moved to npm",
        "maybe npm is fine again",
        "I wish we used npm",
        "we want to switch to npm",
        "we will use npm soon",
        # this once
        "you can push to main",
        "you can push to main now",
        "you can push to main, it's a small fix",
        "you can push to main just this once",
        "you can push to main again if CI is green",
        "you can push to main again, but only for docs",
        "you can push to main again when the release is out",
        "for now you can push to main again",
        "you don't have to run the full suite",
        "you don't have to run the full suite for this PR any more",
        "no need to run the full suite today",
        "skip the full suite",
        "skip the full suite for now",
        "don't run the full suite now",
        "stop running the full suite",
        "commit without running the full suite this time",
        "ignore the rule about the full suite for this commit",
        "use npm just for this install",
        "use npm for now",
        "use npm now",
        "don't run the full suite again",
        # something else
        "you can push to the fork again",
        "you can push tags to main again",
        "you can push again",
        "you don't have to run the linter in CI any more",
        "you don't have to run the full suite on docs any more",
        "you don't have to run the e2e suite any more",
        "running the full suite before pushing is no longer needed",
        # the opposite
        "you can never push to main again",
        "you may not push to main again",
        "we can no longer push to main again",
        "it's ok to never push to main again",
        "never pushing to main is fine again",
        # what the agent does
        "you no longer run the full suite before committing!",
        "you don't run the full suite before committing any more",
        "we use npm for the docs now",
        "we use npm here now, but only in the website",
        "we moved to npm in the web app",
        "we moved to ruff",
        "we moved to poetry-core for builds",
        "we moved to the new office",
        "we switched to yarn workspaces on the website",
        "npm is fine again on my laptop",
        "forget what I said about the header",
        "forget what I said about the pnpm cache",
        "ignore the rule about test names",
        "we no longer use pnpm workspaces",
        "we dropped the pnpm lockfile check",
        "instead of a list we now use a set",
        "our project uses npm packages now",
        "the project is on hold now",
        "the team moved to npm workspaces in the web app",
        # told of others
        "they said you can push to main again",
        "the readme says we use npm now",
        'the log shows "we moved to npm"',
        "when we moved to npm everything broke",
        "since we moved to npm the build fails",
        "we use npm now and the build fails, please migrate to pnpm",
        "He told me pushing to main is fine again",
        "we never do that here",
        "we moved to npm. is that right?",
        "we moved to npm. just kidding",
    ],
)
def test_what_only_looks_like_it_takes_nothing_back(said: str) -> None:
    rules = {PNPM, NO_NPM, SUITE, NO_SUITE, MAIN}
    assert told_after(said, *sorted(rules)) == rules


@pytest.mark.parametrize("tail", [", but ask me first", " but check with me before", ", but tell me"])
def test_what_is_allowed_again_to_who_asks_takes_the_rule_back_and_says_so(tail: str) -> None:
    rule, said = "don't add new dependencies to this repo", f"you can add dependencies again{tail}"
    assert told_after(said, rule, "never use npm") == {said, "never use npm"}


def test_a_rule_that_is_said_again_takes_back_what_took_it_back() -> None:
    for lifts in ("we dropped pnpm", "forget what I said about pnpm", "we moved to npm"):
        known = merged([], said_at(1, PNPM))
        for day, words in enumerate((lifts, "we moved back to pnpm"), 2):
            known = merged(known.values(), said_at(day, *rules_in(words)))
        assert [m.text for m in known.values() if not m.superseded_by] == [f"{SAID}we moved back to pnpm"]


@pytest.mark.parametrize(
    ("rule", "older"),
    [
        (
            "always run the frontend tests with docker compose before you open a pull request",
            "always run the backend tests with docker compose before you open a pull request",
        ),
        (
            "never deploy the web service to the production cluster without asking me first",
            "never deploy the api service to the production cluster without asking me first",
        ),
    ],
)
def test_a_rule_about_another_thing_in_the_same_words_stands_beside(rule: str, older: str) -> None:
    assert told_after(rule, older) == {rule, older}


def test_a_rule_that_says_more_takes_the_place_of_the_shorter() -> None:
    shorter = "before each commit run ruff check and ruff format over the source folder"
    longer = "before each commit run ruff check and ruff format over the source folder and the tests"
    assert told_after(longer, shorter) == {longer}
    assert told_after(shorter, longer) == {longer}


@pytest.mark.parametrize(
    ("wider", "narrower"),
    [
        ("never push directly to the main branch", "never push directly to the main branch on Fridays"),
        (
            "never edit the generated client code by hand",
            "never edit the generated client code in packages by hand",
        ),
    ],
)
def test_a_rule_whose_condition_falls_away_takes_the_place_of_the_narrower(wider: str, narrower: str) -> None:
    assert told_after(wider, narrower) == {wider}
    assert told_after(narrower, wider) == {narrower}


def test_a_rule_that_says_the_opposite_takes_the_place_of_the_other() -> None:
    often = "always open a draft pull request on the staging branch for work on the billing service"
    assert told_after(often.replace("always", "never"), often) == {often.replace("always", "never")}


ASK_PUSH, ASK_DELETE, ASK_FIRST = (
    "ask me before you push to main",
    "always ask me before deleting files",
    "never install packages without asking me",
)


@pytest.mark.parametrize(
    ("said", "held", "left"),
    [
        ("you don't have to ask me any more", [ASK_PUSH], set()),
        ("you don't have to ask me any more", [ASK_FIRST], set()),
        ("you don't have to ask me any more", [ASK_PUSH, ASK_DELETE], {ASK_PUSH, ASK_DELETE}),  # which of them?
        ("you don't have to ask me any more", [ASK_DELETE, ASK_FIRST], {ASK_DELETE, ASK_FIRST}),
        ("you don't have to ask me before you push any more", [ASK_PUSH, ASK_DELETE], {ASK_DELETE}),
        ("you don't have to ask me before you push to main any more", [ASK_PUSH, ASK_DELETE], {ASK_DELETE}),
        ("you don't have to ask me before you push to staging any more", [ASK_PUSH], {ASK_PUSH}),
    ],
)
def test_who_need_not_ask_any_more_still_asks_about_other_things(said: str, held: list[str], left: set[str]) -> None:
    assert told_after(said, *held) & set(held) == left
