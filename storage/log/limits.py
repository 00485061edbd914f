"""What one write may hold. The tools cut long before; these keep the file sane whoever calls."""

from __future__ import annotations

__all__ = ["MAX_DEPTH", "MAX_NAME", "MAX_NUMBER", "MAX_STEPS", "MAX_SUMMARY", "MAX_TEXT"]

# Characters of one text: an observation, a skill's description, a task. Masking hostile text takes a second for each
# million, so this bounds what one text can cost.
MAX_TEXT = 2 << 20
# Characters of an identifier: task id, project, session, external id.
MAX_NAME = 1024
# Characters of a text in the journal's summary of a step.
MAX_SUMMARY = 200
# Lists and objects inside each other.
MAX_DEPTH = 64
# Steps of one call.
MAX_STEPS = 100_000
# The highest step number; the key has 32 bits.
MAX_NUMBER = 2**31 - 1
