"""The log: every step, reward and decision as it was reported, in one redb file; the source of truth."""
