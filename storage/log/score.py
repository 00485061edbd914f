"""Scoring: rewards, skill uses and the end of an episode, in one write."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import timedelta

import msgspec

from prowess.storage.errors import InvalidInput
from prowess.storage.events import EpisodeClosed, RewardScored, SkillUsed
from prowess.storage.ids import id_text, new_id
from prowess.storage.log import state
from prowess.storage.log.batch import Batch, View
from prowess.storage.log.codec import decode_envelope
from prowess.storage.log.command import Command
from prowess.storage.log.state import EpisodeState
from prowess.storage.log.tables import JOURNAL, REWARDS, STEPS
from prowess.storage.log.track import describe
from prowess.storage.models import NewReward, NewUse, Origin, Reward, Scored, SkillUse, Where, format_time, parse_time
from prowess.storage.scoring import combine, outcome_of
from prowess.storage.upcast import decode_event

__all__ = ["Score", "check_reward", "stored_rewards"]

BOUND = 10.0


def check_reward(reward: NewReward) -> None:
    """InvalidInput unless the value is in [-10, 10] or None."""
    value = reward.value
    if value is not None and not (math.isfinite(value) and abs(value) <= BOUND):
        raise InvalidInput(f"reward {value} is out of range", hint="send a number from -10 to 10")


def stored_rewards(view: View, episode: bytes) -> list[Reward]:
    """All rewards of the episode, in the order in which they were given."""
    rows = view.table(REWARDS).range((episode, 0), (episode, 2**64 - 1))
    return [_reward(view, seq) for (_, seq), _ in rows]


def _after(at: str, rewards: Sequence[Reward]) -> str:
    """``at``, or just after the last of ``rewards``: the latest counts, also where the clock was set back meanwhile."""
    last = max((reward.at for reward in rewards), default="")
    return at if at >= last else format_time(parse_time(last) + timedelta(milliseconds=1))


def _reward(view: View, seq: int) -> Reward:
    event = decode_event(decode_envelope(seq, view.table(JOURNAL).get(seq)))
    assert isinstance(event, RewardScored)
    return event.reward


class Score(Command[Scored]):
    """Add rewards and uses to the episode that is meant; ``final`` closes it."""

    operation = "score"
    answer_type = Scored

    def __init__(
        self,
        where: Where,
        rewards: Sequence[NewReward],
        uses: Sequence[NewUse],
        final: bool,
        origin: Origin,
        key: str | None,
    ) -> None:
        if not (rewards or uses or final):
            raise InvalidInput("nothing to score", hint="send a reward, skills used, or final")
        # Not the session: who was killed before the answer came tries again in another one.
        # Nor a skill's version, which is the one of the moment.
        told = [(use.skill_id, use.success) for use in uses]
        super().__init__(key, (where.task_id, rewards, told, final))
        self._where = where
        self._rewards = rewards
        self._uses = uses
        self._final = final
        self._origin = origin

    def apply(self, batch: Batch) -> Scored:
        key, known = state.meant(batch, self._where)
        self._check_steps(batch, key, known)
        now = describe(batch, key, known, self._where.task, self._origin)
        rewards = stored_rewards(batch, key)
        at = _after(batch.at, rewards)
        rewards += [self._add(batch, key, reward, at) for reward in self._rewards]
        for use in self._uses:
            self._count(batch, key, use)
        closes = self._final and not known.closed
        if closes:
            batch.record(EpisodeClosed(episode_id=id_text(key), at=batch.at), self._origin)
        now = msgspec.structs.replace(now, closed=known.closed or closes, touched=batch.now_ms)
        state.save(batch, key, now)
        return self._answer(batch, key, now, rewards)

    def _check_steps(self, batch: Batch, key: bytes, known: EpisodeState) -> None:
        for reward in self._rewards:
            number = reward.step
            if number is None:
                continue
            if not 1 <= number <= known.high or batch.table(STEPS).get((key, number)) is None:
                raise InvalidInput(
                    f"task {known.task_id[:100]!r} has no step {number}", hint=f"its steps run up to {known.high}"
                )

    def _add(self, batch: Batch, key: bytes, new: NewReward, at: str) -> Reward:
        fields = msgspec.structs.asdict(new)
        reward = Reward(id=new_id(batch.now_ms), episode_id=id_text(key), at=at, **fields)
        seq = batch.record(RewardScored(reward=reward), self._origin)
        batch.put(REWARDS, (key, seq), b"")
        return reward

    def _count(self, batch: Batch, key: bytes, new: NewUse) -> None:
        fields = msgspec.structs.asdict(new)
        use = SkillUse(id=new_id(batch.now_ms), episode_id=id_text(key), at=batch.at, **fields)
        batch.record(SkillUsed(use=use), self._origin)

    def _answer(self, batch: Batch, key: bytes, now: EpisodeState, rewards: Sequence[Reward]) -> Scored:
        value = combine(rewards)
        return Scored(
            seq=batch.head.seq,
            episode_id=id_text(key),
            reward=value,
            outcome=outcome_of(value),
            rewards=tuple({reward.source: reward for reward in rewards if reward.step is None}.values()),
            closed=now.closed,
        )
