"""Patterns over many episodes: counted, compared, and corrected for everything that was looked at."""
