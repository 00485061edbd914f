"""One score from all evidence, and whether it is enough to speak of a match.

The coefficients were fitted on the build parts of SkillsBench, MetaTool and Seal-Tools (``benchmarks/quality``) and on
the prompts that 45 published Agent Skills are tested with, so that the right candidates get the most of a softmax, and
drawn to those of the fit before, which knew 14 of these skills; those of the floor then, by logistic regression, to
tell right first answers from the best that foreign questions and requests get. Its constant is where 1.75 % of the
right ones were lost, sets weighing the same. All are fixed.
"""

from __future__ import annotations

import math

import numpy as np

from prowess.learning.arrays import Floats
from prowess.learning.ranking.evidence import Evidence, standing

__all__ = ["fits", "fused", "relative"]

# Of each kind of evidence: what it counts in a short question about short texts, what is added to that in a question of
# LONG words, and what where the candidates' texts have LONG_TEXT words. Words (of all, and of name and text alone) and
# meaning as they stand out among the candidates, the best part, the name, the text, the question covered, and words
# that are neighbours in both.
SHORT = np.array([0.52, -0.24, 1.47, 0.92, 0.55, -0.25, 4.38, 1.83])
LONGER = np.array([1.03, -1.64, -0.3, 1.8, 3.4, 1.57, 0.86, 0.44])
WORDIER = np.array([-0.97, 2.5, -1.21, -0.78, -1.13, -1.21, 1.61, -0.01])
LONG, LONG_TEXT = 60, 60
LEXICAL_SHARE_OF_PART = 0.4

# The floor: a constant, the cosine (half of the whole question's, half of the best part's), the best part's coverage,
# the logarithm of the pool's size, since the best of many strangers is nearer than the best of few, and how long the
# texts are: a question is farther from a paragraph that tells of many things than from one sentence about its own.
FLOOR = (0.12, 18.69, 17.0, -1.48, 3.36)
OF_THE_PAST = 5.0  # taken from a question about the past; the fit says 6 to 7, on next to no true hits of that kind
SLACK = 4.0
FEWEST = 100  # a smaller pool is taken for one of this size: the sets that the floor was fitted on have 199 and more

# How sharply the score falls from the best candidate on. What is known of a skill's use weighs more the larger it is.
SOFTNESS = 4.0


def fused(evidence: Evidence) -> Floats:
    """One number for each candidate, higher is better; its differences are logarithms of odds."""
    words, meaning = _standings(evidence)
    told = standing(evidence.told)
    by_text = standing(evidence.lexical_told)
    part = _best_part(words, meaning)
    plain = (evidence.named, told, evidence.covered, evidence.together)
    kinds = np.stack([words[0], by_text, meaning[0], part, *plain], 1)
    scores: Floats = kinds @ (SHORT + min(evidence.length, LONG) / LONG * LONGER + _wordiness(evidence) * WORDIER)
    return scores


def _wordiness(evidence: Evidence) -> float:
    """How long the candidates' texts are, from 0 to 1: a tool's is a sentence, an Agent Skill's a paragraph."""
    return min(evidence.text_length, LONG_TEXT) / LONG_TEXT


def _standings(evidence: Evidence) -> tuple[Floats, Floats]:
    words = standing(evidence.lexical)
    return words, np.zeros_like(words) if evidence.cosines is None else standing(evidence.cosines)


def _best_part(words: Floats, meaning: Floats) -> Floats:
    """How well each serves the part that it serves best: 1 for the best of any part; 0 where there is one part only."""
    if len(words) == 1:
        return np.zeros(words.shape[1])
    both = LEXICAL_SHARE_OF_PART * words[1:] + (1 - LEXICAL_SHARE_OF_PART) * meaning[1:]
    best: Floats = (both / (both.max(1, keepdims=True) + 1e-6)).max(0)
    return best


def relative(scores: Floats) -> Floats:
    """Fused scores in (0, 1], the best being 1."""
    scaled: Floats = np.exp((scores - scores.max()) / SOFTNESS) if len(scores) else scores
    return scaled


def fits(evidence: Evidence, pool: int) -> list[bool]:
    """For each candidate whether it is about what was asked. Needs cosines; ``pool`` is how many were searched.

    Once one is clearly about it, others need not be as clear: a question may ask for several things.
    """
    assert evidence.cosines is not None
    constant, near, covered, size, wordier = FLOOR
    floor = constant + size * math.log(max(pool, FEWEST)) + wordier * _wordiness(evidence)
    floor -= OF_THE_PAST * evidence.of_the_past
    cosines = (evidence.cosines[0] + evidence.cosines.max(0)) / 2
    clear = floor + near * cosines + covered * evidence.covered_part
    chosen: list[bool] = (clear >= (-SLACK if clear.max() >= 0 else 0)).tolist()
    return chosen
