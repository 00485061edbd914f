"""MemSkill without torch: memory skills, the memory they make, its worth, and a trained controller in use.

After Zhang et al. 2026 (arXiv 2602.02474). The trainer is ``prowess.training``; docs/memskill.md explains both.
"""

from __future__ import annotations

from prowess.learning.memskill.affinity import View, view_skills
from prowess.learning.memskill.bank import Bank
from prowess.learning.memskill.controller import Controller, Manifest
from prowess.learning.memskill.executor import EmbeddedExecutor
from prowess.learning.memskill.keeper import Change, Kept, Remembered, remember
from prowess.learning.memskill.memory import Limits, MemoryBank, Operation
from prowess.learning.memskill.play import Always, Play, Policy, UniformRandom, play_all
from prowess.learning.memskill.reward import Budget, Worth, judge
from prowess.learning.memskill.skills import INITIAL, MemorySkill, format_skill, parse_skill
from prowess.learning.memskill.traces import (
    Question,
    Shape,
    Turn,
    conversation,
    episode_spans,
    histories,
    split_by_time,
)
from prowess.learning.memskill.units import Span, Trace, Unit, Vectors
from prowess.learning.memskill.vectors import HASHED, Cached, hashed

__all__ = [
    "HASHED",
    "INITIAL",
    "Always",
    "Bank",
    "Budget",
    "Cached",
    "Change",
    "Controller",
    "EmbeddedExecutor",
    "Kept",
    "Limits",
    "Manifest",
    "MemoryBank",
    "MemorySkill",
    "Operation",
    "Play",
    "Policy",
    "Question",
    "Remembered",
    "Shape",
    "Span",
    "Trace",
    "Turn",
    "UniformRandom",
    "Unit",
    "Vectors",
    "View",
    "Worth",
    "conversation",
    "episode_spans",
    "format_skill",
    "hashed",
    "histories",
    "judge",
    "parse_skill",
    "play_all",
    "remember",
    "split_by_time",
    "view_skills",
]
