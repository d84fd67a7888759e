"""Breaks what decides, one line at a time: a test must notice each. `make mutants`."""
