"""Faults of every part under a seeded stream of cluster changes, and what must hold all the while: python3 -m tests.chaos."""
