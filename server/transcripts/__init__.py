"""Past work of agents, read from the transcripts that their clients keep.

``claude_code`` and ``codex`` read one client's files each, ``tasks`` divides a session into its tasks, ``evidence``
says what a task was worth, ``episodes`` makes what the store takes of it, ``importer`` stores that. docs/transcripts.md
tells the whole.
"""
