"""Scoring: rewards, skill uses and the end of an episode, in one write."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from prowess.storage.errors import InvalidInput
from prowess.storage.events import EpisodeClosed, RewardScored, SkillUsed
from prowess.storage.ids import id_text, new_id
from prowess.storage.log import state
from prowess.storage.log.batch import Batch, View
from prowess.storage.log.believed import touched_now
from prowess.storage.log.codec import decode_envelope, pack
from prowess.storage.log.command import Command
from prowess.storage.log.state import EpisodeState
from prowess.storage.log.tables import JOURNAL, REWARDS, STEPS
from prowess.storage.log.track import describe
from prowess.storage.models import NewReward, NewUse, Origin, Reward, Scored, SkillUse, Where, not_before
from prowess.storage.scoring import Score, combine, outcome_of, score_of
from prowess.storage.upcast import decode_event

__all__ = ["ScoreEpisode", "check_reward"]

BOUND = 10.0
_decode = msgspec.msgpack.Decoder(Score).decode


def check_reward(reward: NewReward) -> None:
    """InvalidInput unless the value is in [-10, 10] or None."""
    value = reward.value
    if value is not None and not (math.isfinite(value) and abs(value) <= BOUND):
        raise InvalidInput(f"reward {value} is out of range", hint="send a number from -10 to 10")


def _stored_scores(view: View, episode: bytes) -> dict[int, Score]:
    """What counts of the episode's rewards, by their numbers in the journal, in the order in which they were given."""
    rows = view.table(REWARDS).range((episode, 0), (episode, 2**64 - 1))
    return {seq: _score(view, seq, value) for (_, seq), value in rows}


def _score(view: View, seq: int, value: bytes) -> Score:
    """The journal has it as well: older programs kept nothing beside it, and what was kept may be damaged."""
    try:
        return _decode(value)
    except msgspec.DecodeError:
        return score_of(_reward(view, seq))


def _reward(view: View, seq: int) -> Reward:
    event = decode_event(decode_envelope(seq, view.table(JOURNAL).get(seq)))
    assert isinstance(event, RewardScored)
    return event.reward


class ScoreEpisode(Command[Scored]):
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
        scores = _stored_scores(batch, key)
        at = not_before(max((score.at for score in scores.values()), default=""), batch.at)  # the latest counts
        for reward in self._rewards:
            scores |= self._add(batch, key, reward, at)
        for use in self._uses:
            self._count(batch, key, use)
        closes = self._final and not known.closed
        if closes:
            batch.record(EpisodeClosed(episode_id=id_text(key), at=batch.at), self._origin)
        now = msgspec.structs.replace(now, closed=known.closed or closes, touched=touched_now(batch))
        state.save(batch, key, now)
        return self._answer(batch, key, now, scores)

    def _check_steps(self, batch: Batch, key: bytes, known: EpisodeState) -> None:
        for reward in self._rewards:
            number = reward.step
            if number is None:
                continue
            if not 1 <= number <= known.high or batch.table(STEPS).get((key, number)) is None:
                raise InvalidInput(
                    f"task {known.task_id[:100]!r} has no step {number}", hint=f"its steps run up to {known.high}"
                )

    def _add(self, batch: Batch, key: bytes, new: NewReward, at: str) -> dict[int, Score]:
        fields = msgspec.structs.asdict(new)
        reward = Reward(id=new_id(batch.now_ms), episode_id=id_text(key), at=at, **fields)
        seq = batch.record(RewardScored(reward=reward), self._origin)
        score = score_of(reward)
        batch.put(REWARDS, (key, seq), pack(score))
        return {seq: score}

    def _count(self, batch: Batch, key: bytes, new: NewUse) -> None:
        fields = msgspec.structs.asdict(new)
        use = SkillUse(id=new_id(batch.now_ms), episode_id=id_text(key), at=batch.at, **fields)
        batch.record(SkillUsed(use=use), self._origin)

    def _answer(self, batch: Batch, key: bytes, now: EpisodeState, scores: dict[int, Score]) -> Scored:
        value = combine(scores.values())
        newest = {score.source: seq for seq, score in scores.items() if score.step is None}
        return Scored(
            seq=batch.head.seq,
            episode_id=id_text(key),
            reward=value,
            outcome=outcome_of(value),
            rewards=tuple(_reward(batch, seq) for seq in newest.values()),
            closed=now.closed,
        )
