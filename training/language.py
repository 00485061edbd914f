"""A language model for the executor, the designer and the reward: one place for its key, its costs, and its answers'
form.

The key comes from the environment of whoever runs the trainer by hand, or of a hub whose setting ``train_usd`` allows
it. Every call goes through ``providers.messages``, so with its time limit, retries and prices, and below the run's cap:
what was spent is kept in ``spend.jsonl`` beside the results, so that a resumed run goes on counting.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import anyio
import msgspec
from anyio.from_thread import BlockingPortal, start_blocking_portal

from prowess.learning.memskill.executor import Executor
from prowess.learning.memskill.units import Vectors
from prowess.providers.errors import BadAnswer, BudgetExceeded, LanguageError, NoKey
from prowess.providers.language_settings import LanguageSettings
from prowess.providers.messages import Messages, Question
from prowess.providers.prompts import record_of
from prowess.providers.spend import ModelCall, Spend
from prowess.training.designer import Designer
from prowess.training.files import read_lines
from prowess.training.settings import Settings

if TYPE_CHECKING:
    from prowess.training.reader_language import LanguageReader

__all__ = ["Asker", "Language", "open_language"]

TIMEOUT_S = 60.0  # of a question with its retries
REPAIRS = 1  # times that a model is shown what was wrong with its answer
TOGETHER = 4  # questions under way at once, where several are asked

T = TypeVar("T")


@dataclass(slots=True)
class Counts:
    """What happened: ``repaired`` answers that were right the second time, ``failed`` questions without a use."""

    calls: int = 0
    usd: float = 0.0
    repaired: int = 0
    failed: int = 0


class Asker:
    """Asks questions, from a thread without an event loop. ``exhausted`` once the cap is reached."""

    def __init__(self, portal: BlockingPortal, settings: LanguageSettings, ledger: Path) -> None:
        self.counts = Counts()
        self.exhausted = False
        self._portal = portal
        self._ledger = ledger
        for call in read_lines(ledger, ModelCall):
            self._count(call)
        self._messages = Messages(settings, Spend(settings.daily_usd, self._record, self._spent))

    def ask(self, question: Question, read: Callable[[str], T]) -> T | None:
        """What ``read`` makes of the answer; None where none of use came. A bad answer is asked again with the reason.

        Raises nothing but NoKey: a run goes on without the model, which ``counts`` tells.
        """
        return self._portal.call(self._answer, question, read)

    def ask_all(self, asked: Sequence[tuple[Question, Callable[[str], T]]]) -> list[T | None]:
        """As ``ask`` for each, some of them at a time."""
        return self._portal.call(self._answers, asked)

    async def _answers(self, asked: Sequence[tuple[Question, Callable[[str], T]]]) -> list[T | None]:
        found: list[T | None] = [None] * len(asked)
        limit = anyio.CapacityLimiter(TOGETHER)

        async def answer(place: int) -> None:
            async with limit:
                found[place] = await self._answer(*asked[place])

        async with anyio.create_task_group() as tasks:
            for place in range(len(asked)):
                tasks.start_soon(answer, place)
        return found

    async def _answer(self, question: Question, read: Callable[[str], T]) -> T | None:
        try:
            return await self._ask(question, read)
        except NoKey:
            raise
        except BudgetExceeded:
            self.exhausted = True
        except LanguageError:
            self.counts.failed += 1
        return None

    async def _ask(self, question: Question, read: Callable[[str], T]) -> T:
        for attempt in range(REPAIRS + 1):
            try:
                answer = await self._messages.ask(question, read)
            except BadAnswer as error:
                if attempt == REPAIRS:
                    raise
                question = _again(question, str(error))
            else:
                self.counts.repaired += attempt > 0
                return answer
        raise AssertionError("the loop returns or raises")

    def close(self) -> None:
        """Close the connections."""
        self._portal.call(self._messages.aclose)

    async def _record(self, call: ModelCall) -> None:
        with self._ledger.open("ab") as file:
            file.write(msgspec.json.encode(call) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        self._count(call)

    async def _spent(self) -> float:
        return self.counts.usd

    def _count(self, call: ModelCall) -> None:
        self.counts.calls += 1
        self.counts.usd += call.cost_usd


@dataclass(slots=True)
class Language:
    """What a run asks of a language model: its executor, designer and reader, None for the embedded ones."""

    executor: Executor | None = None
    designer: Designer | None = None
    reader: LanguageReader | None = None
    asker: Asker | None = field(default=None, repr=False)

    def spent(self) -> dict[str, float]:
        """For events: calls, what they cost, and whether the cap kept some back; nothing without a model."""
        if self.asker is None:
            return {}
        counts = self.asker.counts
        told: dict[str, float] = {"model_calls": counts.calls, "cost_usd": round(counts.usd, 6)}
        told |= {"model_repaired": counts.repaired, "model_failed": counts.failed}
        return {**told, "cap_reached": True} if self.asker.exhausted else told


@contextmanager
def open_language(settings: Settings, vectors: Vectors, out: Path) -> Iterator[Language]:
    """The language model's parts that the settings ask for. Raises NoKey where they do and there is no key."""
    if "language" not in (settings.executor, settings.designer, settings.reward):
        yield Language()
        return
    from prowess.training.designer_language import LanguageDesigner
    from prowess.training.executor_language import LanguageExecutor
    from prowess.training.reader_language import LanguageReader

    reached = _settings(settings)
    if not reached.configured:
        raise NoKey(
            "the run asks for a language model, and no key is set",
            hint="run the trainer by hand with ANTHROPIC_API_KEY, or set a key and train_usd for the hub",
        )
    with start_blocking_portal() as portal:
        asker = Asker(portal, reached, out / "spend.jsonl")
        try:
            executor = LanguageExecutor(asker, vectors) if settings.executor == "language" else None
            designer = LanguageDesigner(asker, settings.seed) if settings.designer == "language" else None
            reader = LanguageReader(asker, out / "judged.jsonl") if settings.reward == "language" else None
            yield Language(executor, designer, reader, asker)
        finally:
            asker.close()


def _settings(settings: Settings) -> LanguageSettings:
    told = os.environ.get
    return LanguageSettings(
        api_key=told("ANTHROPIC_API_KEY", ""),
        auth_token=told("ANTHROPIC_AUTH_TOKEN", ""),
        base_url=told("ANTHROPIC_BASE_URL", ""),
        model=told("PROWESS_MODEL", ""),
        daily_usd=min(settings.language_usd, _number(told("PROWESS_TRAIN_USD", ""), math.inf)),
        price=_price(told("PROWESS_MODEL_PRICE", "")),
        timeout_s=TIMEOUT_S,
    )


def _price(told: str) -> tuple[float, float] | None:
    parts = [_number(part, -1.0) for part in told.split(",")]
    return (parts[0], parts[1]) if len(parts) == 2 and min(parts) >= 0 else None


def _number(told: str, otherwise: float) -> float:
    try:
        return float(told)
    except ValueError:
        return otherwise


def _again(question: Question, problem: str) -> Question:
    prompt = (
        f"{question.prompt}\n\nA first answer was of no use: {record_of(problem[:300])}. "
        "Answer with the JSON object only."
    )
    return replace(question, prompt=prompt)
