"""What says of itself that it holds for good is a rule; the same words about the task, or the product, are not."""

from __future__ import annotations

import pytest

from prowess.learning.memories.standing_rules import rules_in


@pytest.mark.parametrize(
    "said",
    [
        "no emojis in commit messages please",
        "don't add emojis in your PR titles",
        "don't add new dependencies to this repo",
        "we use helmfile here, not plain helm",
        "from this point on, keep the notes in the wiki",
        "moving forward please open a draft PR first",
        "mention the ticket number in your summary from now on",
        "next time, throw the old branch away",
        "in the future we squash before we merge",
        "don't deploy until I tell you",
        "do not merge anything unless explicitly asked",
        "use the blue theme unless I say otherwise",
        "the seed data can be thrown away until I say so",
        "ask me before installing anything",
        "I never want you to rewrite history",
        "I don't want any new docs",
        "no co-authored-by lines please",
        "don't add Claude as a contributor in commits",
        "add to your memory that we release on Mondays",
        "update your memory: the staging box is read-only",
        "stop apologizing all the time",
        "don't ask me the same question every time",
        "never rename the columns again",
        "always read the docs folder before you plan",
        "always push to upstream",
        "never modify existing tests",
        "never install new packages",
        "run the linter every time",
        "don't touch the generated client",
        "never commit api keys",
        "use my work github account",
        "adhere to the Google style guide",
        "respect AGENTS.md",
        "every PR needs a changelog entry",
        "all scripts should live in bin",
        "use small commits",
        "for every new endpoint, write a test",
        "whenever you rename a module, search for its old name",
        "when I say ship it, tag and push",
        "if you break a test, never skip it",
        "before committing, run the type checker",
        "commit after each sprint",
        "don't ask for permission to read a file",
        "you don't need to ask before running the tests",
        "stop asking so many questions",
        "publish the package only when I say so",
        "don't push on your own",
        "never commit automatically",
        "don't restart the servers anymore",
        "you should rerun failed jobs all the time",
        "we will never go back to that vendor again",
        "don't touch my comments",
        "make changes only where needed",
        "I always want dry runs",
        "I need to review PRs",
        "take the small model unless otherwise told",
        "everything in this repo must be in english",
        "keep the changelog up to date",
        "always check the logs after each deploy",
        "we don't need branches, we commit to main",
        "always verify your work yourself",
        "always lint and test",
        "always use the command line",
        "ignore backwards compatibility",
        "going forward, use the new error class for all api errors",
        "whenever you add a route, add it to the docs",
        "in the future you always run the type checker first",
        "I hate it when you rewrite whole files",
        "my rule is: no commits without tests",
        "our convention is: one migration per PR",
        "the rule here is no default exports",
        "all commits must be signed",
        "each new endpoint must have a test",
        "we don't use lodash here",
        "keep the docs in sync with the code",
        "never change tests to make them pass",
        "before commiting always run prettier",
        "whenever you touch the schema, regenerate the client",
        "do not edit files in vendor/ ever",
        "don't ever run the e2e suite locally",
    ],
)
def test_what_lasts_is_a_rule_of_any_prompt(said: str) -> None:
    assert rules_in(said) == rules_in(f"Add a flag\n\n{said}") == [said]


@pytest.mark.parametrize(
    "said",
    [
        "no emojis",
        "be concise",
        "keep your answers short",
        "answer in spanish",
        "no comments in the code",
        "no subagents",
        "stop using polling",
        "prefer rg over grep",
    ],
)
def test_how_to_answer_is_a_rule_of_a_prompt_that_steers_alone(said: str) -> None:
    assert rules_in(f"Add a flag\n\n{said}") == [said]
    assert rules_in(said) == []


@pytest.mark.parametrize(
    "said",
    [
        "don't change the header here",
        "no emojis in the header please",
        "don't add the chart to this project yet",
        "make it easy to add languages in the future",
        "we might need a second table in the future",
        "from now on users must confirm their address",
        "show a toast every time the form is saved",
        "save the draft each time",
        "keep the menu open always",
        "the total should always be visible",
        "for every new user, create a workspace",
        "whenever the user clicks on a card, open it",
        "whenever you are ready, start with the second part",
        "every time I run the build, it fails",
        "if I type a space, it crashes",
        "when I say dark mode, I mean the whole page",
        "update the score after each round",
        "this check should happen before each request",
        "don't render the list without asking the server",
        "I want to approve every booking as an admin",
        "unless I say otherwise the switch is off",
        "I don't want any comments in this file",
        "I never want to see the spinner",
        "my preference is the second one",
        "I already told you it is in utils.py",
        "don't push until it works",
        "don't ask me again, just do it",
        "do not run the migration again",
        "save the session to memory",
        "add the new commands to CLAUDE.md",
        "remember we only have two days",
        "stop asking the user for the name twice",
        "stop changing the color of the title",
        "keep the answers short in the chatbot",
        "write in english in the readme",
        "make separate commits for the two fixes",
        "all tests must pass",
        "all endpoints must return json",
        "always add the tax to the total",
        "always update the cart when an item changes",
        "always commit the transaction at the end",
        "never delete the last admin",
        "never store passwords in plain text",
        "use my personal photo as avatar",
        "follow the same pattern as in users.ts",
        "prefer the second approach",
        "when testing the login, use the demo user",
        "no changes in the code please, just explain",
        "show the toolbar only when I click on the map",
        "don't ask for the email in the form",
        "don't open the popup anymore",
        "you should see a list of all users every time",
        "I always want the total on top",
        "we don't need to show the price here",
        "we push notifications to the users",
        "do not remove my name from the footer",
        "keep the list updated",
        "everything in this form should be required",
        "the plan should always show the next step",
        "sort by date unless otherwise specified",
        "I like to review changes in the diff view",
        "always use the terminal font in the code blocks",
        "we don't need backward compatibility for this migration",
        "stop using flexbox, use grid",
        # of the product, with words that agents are told in too
        "from now on show the price in euros",
        "from now on, add a footer to each page",
        "going forward use the new logo on the landing page",
        "in the future we show a map here",
        "next time you open the app it should remember the tab",
        "every time you press the button, show a spinner",
        "whenever you select a branch, show its commits",
        "if you click delete, always ask for confirmation",
        "when a user deletes a draft, always ask for confirmation",
        "the app should ask before deleting, never delete without asking",
        "don't show the popup unless I ask for it",
        "all secrets should be encrypted at rest",
        "all comments should be sortable",
        "all scripts should print the usage with -h, add that",
        "Always write migrations in this repo, add that",
        "every commit must trigger a build in our product",
        "every migration should be reversible, fix the ones that aren't",
        "keep notes in sync between the devices",
        "use commit messages as the title of the entry",
        "stop suggesting words in the search box",
        "I hate when you have to scroll to see the total",
        "I don't want any comments on the post page",
        "my rules are in eslint.config.js, why are they ignored",
        "important rule: admins may always edit",
        "always create the docs index",
        "never update the changelog table directly",
        "always save drafts to the branch table",
        "always commit after each batch",
        "don't touch the generated image",
        "don't overwrite my settings on update",
        "never delete my files when syncing",
        "documentation must always be accessible from the navbar",
    ],
)
def test_what_is_of_the_task_or_the_product_is_no_rule_though_it_sounds_like_one(said: str) -> None:
    assert rules_in(said) == rules_in(f"Add a flag\n\n{said}") == []


@pytest.mark.parametrize(
    "said",
    [
        "write a guide that says: never push to main, always open a PR",
        "create a page with: never commit secrets, always use branches",
        "draft a message to the team: going forward, always ask before deploying",
        "add a warning to the README: do not edit generated files, and never commit them",
        "the guide says never push to main, and always use conventional commits",
        "the reviewer said we should rename it and never use default exports",
        "generate ten rules such as never push to main and always write tests",
        "reply to him that we never push to main, and always squash",
        "From: anna\nHi all, from now on please never push to main.\nwrite a friendly reply",
    ],
)
def test_what_somebody_else_says_or_what_is_to_be_written_is_no_rule(said: str) -> None:
    assert rules_in(said) == rules_in(f"Add a flag\n\n{said}") == []


@pytest.mark.parametrize("asked", ["Why?", "Is that right?", "right?", "Do we?", "how come?"])
def test_a_statement_that_is_asked_about_is_no_rule(asked: str) -> None:
    assert rules_in(f"we use pnpm here, not npm. {asked}") == rules_in(f"x\n\nwe never push to main. {asked}") == []
    assert rules_in("x\n\nwe never push to main. Is that clear?") == ["we never push to main."]


@pytest.mark.parametrize(
    "when", ["until monday", "this week", "on friday", "until the release is out", "till tomorrow"]
)
def test_what_holds_for_some_days_is_no_rule(when: str) -> None:
    assert rules_in(f"we don't push to prod {when}") == rules_in(f"x\n\nwe don't push to prod {when}") == []
    assert rules_in("we don't deploy on fridays") == ["we don't deploy on fridays"]


@pytest.mark.parametrize(
    ("said", "rules"),
    [
        ("fix the header, and never commit without asking me", ["never commit without asking me"]),
        ("looks good but please don't add claude as co-author", ["don't add claude as co-author"]),
        ("when you are done, never push without asking me", ["when you are done, never push without asking me"]),
        ("1. fix the header\n2. from now on run the tests first", ["from now on run the tests first"]),
        (
            "The docs are built by hand. Save that to your memory.",
            ["The docs are built by hand. Save that to your memory."],
        ),
        ("save that to your memory", []),
        ("pls never push to main directly, open a PR", ["never push to main directly, open a PR"]),
        ("I told you already: never use --no-verify", ["never use --no-verify"]),
        ("don't push every time. only when I tell you.", ["don't push every time. only when I tell you."]),
        ("only when I tell you", []),
        ("> never commit without asking me", []),
        ("look at that:\n- never commit without asking me", []),
        ("never squash; the history is needed; ok", ["never squash; the history is needed"]),
        ("this project uses pnpm. Add lodash", ["this project uses pnpm."]),
    ],
)
def test_what_is_kept_says_it_whole_and_nothing_of_the_task(said: str, rules: list[str]) -> None:
    assert rules_in(f"Add a flag\n\n{said}") == rules


def test_of_a_long_prompt_only_what_says_so_itself_counts() -> None:
    story = "The page has a list of all the trips and one more of the cars. " * 12
    assert rules_in(f"{story}From now on, run the linter before you are done.") == [
        "From now on, run the linter before you are done."
    ]
    assert rules_in(f"{story}We use pnpm here.") == []


@pytest.mark.parametrize(
    "said",
    [
        "don't use data-testid in this repo, use getByRole",
        "never use select * in this repo",
        "don't touch the kube-system namespace in this repo",
        "in this repo we use tabs",
        "in this codebase, don't write classes, functions only",
        "always put new SQL in views/ in our repo",
        "use pnpm in this repo, not yarn",
        "we never use the latest tag here",
        "we only merge with squash here",
        "don't use yarn here",
        "do not edit files under vendor/",
        "commit messages must be in english",
    ],
)
def test_what_is_said_of_this_code_is_a_rule_whatever_it_names(said: str) -> None:
    assert rules_in(f"add a page\n\n{said}") == [said]
    assert rules_in(said) == [said]


@pytest.mark.parametrize(
    "said",
    [
        "don't change anything in this repo, only look",
        "don't use the cache in this repo yet",
        "we use three different loggers in this repo, unify them",
        "in this repo we use axios but I want to move to fetch",
        "use ripgrep in this repo to find all usages of foo",
        "in this repo we use yarn, is that still needed?",
        "in this repo never mind the docs, just fix the tests",
        "why do we always retry twice in this repo?",
        "don't list archived issues in this repo view",
        "we never check the return value here",
        "we always open a new session here, use the pool",
        "never show closed tasks here",
        "don't use a map here, a set is enough",
        "branch names are lower case in the list, make them as typed",
        "the commit messages should be shown in the sidebar",
        "never push to main until Monday",
        "from now on use the staging box till the end of the week",
        "never found a bug like this in this repo",
        "always been a mess in this repo",
        "we always had this problem in this repo",
        "we only have two services in this repo",
        "we only want the login module in this repo",
        "we don't have tests in this repo",
        "we don't know who wrote the code in this repo",
        "don't search for the config in this repo",
        "do not look for more bugs in this repo",
        "we only use this button here",
        "we never use this page here",
        "we only import users with an email here",
        "we use the login form in this repo",
        "always show a spinner in our repository",
    ],
)
def test_what_is_to_be_done_to_this_code_or_said_of_a_line_is_none(said: str) -> None:
    assert rules_in(f"add a page\n\n{said}") == []


@pytest.mark.parametrize(
    "said",
    [
        "never commit to main, add that",
        "Always squash your commits when you merge, add that",
        "Always write migrations in this repo, add that to AGENTS.md",
    ],
)
def test_what_follows_a_rule_and_is_no_work_of_its_own_leaves_it_a_rule(said: str) -> None:
    assert rules_in(said)
