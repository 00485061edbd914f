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
