"""Secrets found by rules and masked."""
