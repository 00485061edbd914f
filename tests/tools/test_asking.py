"""Which prompts ask for an answer alone."""

from __future__ import annotations

import pytest

from prowess.tools.asking import LONGEST, only_asks


@pytest.mark.parametrize(
    "prompt",
    [
        "why 4 modes?",
        "what does --atomic do again?",
        "hm what does the size check measure exactly",
        "is the autoscaler worth it for us?",
        "do you think another store would be better here?",
        "how come the browser needs a container",
        "is there a plugin.config.js for this?",
        "ok, and who owns the edge stack",
        "can u remind me what we did on monday?",
        "where did we leave off",
        "should I rename it",
        "did it pass",
        "could you please explain what the cache does?",
        "what is the command to run the tests and where does it live",
    ],
)
def test_one_question_and_nothing_else(prompt: str) -> None:
    assert only_asks(prompt)


@pytest.mark.parametrize(
    "prompt",
    [
        "can you fix the header?",
        "can u check",
        "could you also add a test?",
        "why is the mailer killed? fix it",
        "how about adding a retry to the client?",
        "what about tests for the parser",
        "why don\u2019t you use the fixture",
        "why not just use uv",
        "what if we cached it",
        "would it be possible to add a --json flag to list?",
        "is it possible to make the header sticky?",
        "can this be made faster?",
        "do you mind looking at the tests",
        "what does this do, and can you rename it",
        "why is the mailer down and how can we mend it",
        "why is the mailer down, please look",
        "tell me what you would change and then change it",
        "why does the build fail?",
        "what's broken in the login page",
        "explain the error of the mailer",
        "is it broken? then mend it",
        "explain analyze on payments pls",
        "have a look at the login spec",
        "have it built",
        "do it",
        "do the same for the other mode",
        "when done, ship it",
        "had to revert, redo the migration",
        "what is this\nError: no disk",
        "the login spec times out, can u check",
        "index for payments?",
        "",
        "why " + "x" * LONGEST,
    ],
)
def test_what_may_ask_for_work(prompt: str) -> None:
    assert not only_asks(prompt)
