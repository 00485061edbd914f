"""Which prompts start a task, and which only steer the one at work.

docs/transcripts.md has the rule and what it was measured on.
"""

from __future__ import annotations

import re
from datetime import timedelta

from prowess.learning.memories.standing_rules import rules_in
from prowess.server.transcripts import languages
from prowess.server.transcripts.evidence import delivers, judges
from prowess.server.transcripts.model import Call, Event, Prompt, Said, Session, Task
from prowess.storage.models import parse_time
from prowess.tools.asking import only_asks

__all__ = ["Divider", "divide"]

IDLE = timedelta(hours=4)  # after which a prompt comes from a new sitting
SHORT = 5  # words; so few hardly say a task of their own
COMMON = 4  # words of its own that a prompt needs before having none in common tells anything
BEGINNING = 500  # characters of a prompt that tell whether it goes on talking
ALIKE = 0.7  # share of common words from which a prompt asks for the first one's task again, of something else

_ANSWERS = (
    r"ok(?:ay)?|yes|yeah|yep|yup|sure|nope|no|hm+|ah|oh|thanks?|thank you|great|perfect|nice|good|cool|please|"
    r"option \w|both|all of them|neither"
)
_ANSWER = re.compile(rf"(?:{_ANSWERS}|\d+[.)]?(?=\s|$))\b", re.IGNORECASE)
_STEERS = re.compile(
    rf"(?:(?:{_ANSWERS})\b[\s,.!:;-]*)*"
    r"(?:and|also|but|or|so|then|wait|stop|actually|instead|again|still|continue|go on|go ahead|retry|proceed|same|"
    r"btw|by the way|fyi|for (?:the )?next time|in (?:the )?future|"
    r"do (?:it|that|so)|try (?:it|that|again)|not|don'?t|why|what|where|which|who|how|is|are|was|were|does|did|"
    r"I (?:like|prefer|meant|mean|think|updated|changed|see|don'?t)|you|that|this|it|looking at|"
    r"(?:can|could|will|would|should) (?:you|we|it|this|that) (?:also|instead|again|now|just|still|rather)|"
    r"(?:can|could|would) (?:you|we) \w{2,10} (?:it|that|this|them|again))\b",
    re.IGNORECASE,
)
_REFERS = re.compile(
    r"\b(?:it|its|itself|that|this|these|those|them|they|their|there|one|ones|such|same|both|either|former|latter|"
    r"above|instead|accordingly|you (?:said|told|mentioned|found|listed|described|suggested))\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_][\w.-]{2,60}")
_EMPTY = frozenset(
    re.findall(
        r"\w+",
        """
        the and for you can could please with this that from have has was are our your into them then there here all
        any what when where which will would should not but also just need want make sure use let lets new now its get
        add fix update change code file files
        """,
    )
)


def divide(session: Session) -> list[Task]:
    """The session's tasks, those without any work left out."""
    divider = Divider(session)
    for event in session.events:
        divider.take(event)
    tasks = [task for task in divider.tasks if task.calls]
    if tasks:
        tasks[-1].last = True
    return tasks


class Divider:
    """Takes a session's events one by one; ``tasks`` are those so far, the last of them the one at work."""

    def __init__(self, session: Session) -> None:
        self.tasks: list[Task] = [Task(id=f"{session.client}:{session.id}:start")]
        self._session = session
        self._words: set[str] = set()
        self._command: Prompt | None = None
        self._asks = self._delivered = self._answered = False
        self._at: str | None = None

    def take(self, event: Event) -> None:
        """The next event."""
        if isinstance(event, Call):
            self._call(event)
        elif isinstance(event, Said):
            self._asks = event.text.endswith(("?", "\uff1f"))
            self._answered = True
            self._words |= _content(event.text)
        elif event.command:
            self._command = event
        else:
            self._prompt(event)
        self._at = (event.ended if isinstance(event, Call) else None) or event.at or self._at

    def _call(self, call: Call) -> None:
        if self._command is not None:
            self._start(self._command)
        task = self.tasks[-1]
        task.calls.append(call)
        task.cwd = task.cwd or call.cwd
        self._delivered = self._delivered or delivers(call)

    def _prompt(self, prompt: Prompt) -> None:
        self._command = None
        task = self.tasks[-1]
        begun = bool(task.calls)
        if (begun or task.prompts) and self._steers(prompt, begun):
            if begun:
                task.reactions.append(prompt.text)
            if all(prompt.text != before.text for before in task.prompts):
                task.prompts.append(prompt)
                if begun and not prompt.amid and judges(prompt.text):
                    task.judged.add(prompt.text)
            self._words |= _content(prompt.text)
        else:
            self._start(prompt)
        self._asks = self._answered = False  # what was asked is answered, or passed over

    def _start(self, prompt: Prompt) -> None:
        if not prompt.command:
            self.tasks[-1].reactions.append(prompt.text)
        task = Task(id=f"{self._session.client}:{self._session.id}:{prompt.id}", cwd=prompt.cwd, prompts=[prompt])
        self.tasks.append(task)
        self._words, self._command, self._delivered = _content(prompt.text), None, False

    def _steers(self, prompt: Prompt, begun: bool) -> bool:
        """Whether ``prompt`` belongs to the task at work. The order of the questions is that of docs/transcripts.md."""
        beginning = prompt.text[:BEGINNING]
        words = languages.length(beginning)
        if prompt.amid or not begun:
            return prompt.amid or not self._leaves_questions(prompt, words)
        if (_ANSWER.match(beginning) or languages.answers(beginning)) and (words <= SHORT or self._asks):
            return True
        if self._idle(prompt) or self._asks_alike(prompt):
            return False
        if _STEERS.match(beginning) or languages.goes_on(beginning) or _says_only_how(prompt.text):
            return True
        return not self._delivered and (words <= SHORT or self._continues(prompt))

    def _leaves_questions(self, prompt: Prompt, words: int) -> bool:
        """Whether it asks for work by itself, after nothing but questions that were answered in words."""
        if not self._answered or self._asks or words <= SHORT or only_asks(prompt.text):
            return False
        beginning = prompt.text[:BEGINNING]
        if _ANSWER.match(beginning) or languages.answers(beginning):
            return False
        if _STEERS.match(beginning) or languages.goes_on(beginning) or _REFERS.search(beginning):
            return False
        return all(only_asks(asked.text) for asked in self.tasks[-1].prompts)

    def _idle(self, prompt: Prompt) -> bool:
        if prompt.at is None or self._at is None:
            return False
        return parse_time(prompt.at) - parse_time(self._at) > IDLE

    def _asks_alike(self, prompt: Prompt) -> bool:
        """The first prompt again with another object: the same kind of task, and not the same one."""
        first = self.tasks[-1].prompts[:1]
        if not first or first[0].text == prompt.text:
            return False
        mine, before = set(prompt.text.lower().split()), set(first[0].text.lower().split())
        return len(mine) > SHORT and len(mine & before) >= ALIKE * len(mine | before)

    def _continues(self, prompt: Prompt) -> bool:
        """Whether it speaks of what was spoken of before."""
        words = _content(prompt.text)
        return len(words) < COMMON or bool(words & self._words)


def _says_only_how(text: str) -> bool:
    """Whether it says how work is done here and asks for none: as a task of its own, it would be one without work."""
    return sum(map(len, rules_in(text))) >= ALIKE * len(text)


def _content(text: str) -> set[str]:
    words = (word.lower().rstrip(".-") for word in _WORD.findall(text[:4000]))
    return {word for word in words if word not in _EMPTY}
